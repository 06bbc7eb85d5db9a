-- no transaction
-- A claim counts the running runs of its handler, so that concurrency holds for the cluster; taking over looks for
-- its expired leases. Old code can run beside it: the index that it used is replaced by one that serves it too.

-- What a build that was cut off left is not valid.
drop index concurrently if exists posthorn.runs_running;
create index concurrently runs_running on posthorn.runs (handler, lease_until) where status = 'running';
drop index concurrently if exists posthorn.runs_leased;
