-- What one column may hold is said by its domain. PostgreSQL reads a table's CHECKs anew for every statement that
-- writes to it, whatever columns it sets: on these tables that was a fifth of the cost of processing an event. Domains
-- are read once a session, and looked at only where their column is set. CHECKs remain for what joins columns.
-- Old code can run beside it, but not during: the tables are rewritten under a lock.

create domain posthorn.event_status as text collate "C" check (value in
  ('accepted', 'processing', 'success', 'failed', 'rejected', 'skipped', 'quarantined', 'handshake'));
create domain posthorn.run_status as text collate "C" check (value in ('waiting', 'running', 'done', 'failed'));
create domain posthorn.attempt_outcome as text collate "C" check (value in
  ('done', 'failed', 'rejected', 'retry_later', 'timed_out', 'crashed'));
create domain posthorn.via as text collate "C" check (value in ('direct', 'relay', 'reconcile'));
create domain posthorn.event_id as text collate "C" check (length(value) between 1 and 200);
-- Two simple checks: a counted repetition in the pattern cost a tenth of the rate of inserting.
create domain posthorn.event_type as text collate "C" check (length(value) between 1 and 200 and value !~ '[^ -~]');
create domain posthorn.handler_name as text collate "C" check (length(value) between 1 and 200);
create domain posthorn.count as integer check (value >= 0);

-- A trigger on a column holds its type.
drop trigger events_moves on posthorn.events;
alter table posthorn.events
  drop constraint events_event_id_check,
  drop constraint events_event_type_check,
  drop constraint events_status_check,
  drop constraint events_open_runs_check,
  drop constraint events_size_check,
  drop constraint events_replays_check,
  drop constraint events_via_check,
  alter column event_id type posthorn.event_id,
  alter column event_type type posthorn.event_type,
  alter column status type posthorn.event_status,
  alter column open_runs type posthorn.count,
  alter column size type posthorn.count,
  alter column replays type posthorn.count,
  alter column via type posthorn.via;
create trigger events_moves before update of status on posthorn.events
  for each row when (old.status is distinct from new.status) execute function posthorn.refuse_illegal_move();

alter table posthorn.runs
  drop constraint runs_handler_check,
  drop constraint runs_status_check,
  drop constraint runs_attempts_check,
  drop constraint runs_deaths_check,
  alter column handler type posthorn.handler_name,
  alter column status type posthorn.run_status,
  alter column attempts type posthorn.count,
  alter column deaths type posthorn.count;

alter table posthorn.run_attempts
  drop constraint run_attempts_outcome_check,
  alter column outcome type posthorn.attempt_outcome;
