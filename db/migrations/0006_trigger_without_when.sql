-- A condition of a trigger is read and compiled anew for every statement; the function asks the same for less.
drop trigger events_moves on posthorn.events;
create trigger events_moves before update of status on posthorn.events
  for each row execute function posthorn.refuse_illegal_move();
