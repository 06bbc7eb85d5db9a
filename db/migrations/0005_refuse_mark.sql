-- A mark made in a handler's transaction is sent together with its commit, without waiting in between. So a mark that
-- changes no row has to fail: what was written in the transaction must not be committed. Old code does not use it.
create function posthorn.refuse_mark() returns boolean language plpgsql as $$
begin
  raise exception 'the run is not held by this claim any more' using errcode = 'PH001';
end
$$;
