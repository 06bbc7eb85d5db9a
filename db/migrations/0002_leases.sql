-- What one process at a time may do is held by a lease with an epoch (platform/lease). Rows stay when a lease ends:
-- the next epoch must be greater. Old code can run beside it: nothing else changes.
create table posthorn.leases (
  name text collate "C" primary key check (length(name) between 1 and 200),
  holder text collate "C" not null,
  epoch bigint not null check (epoch > 0),
  expires_at timestamptz not null
) with (fillfactor = 50);
comment on table posthorn.leases is 'Who may do what only one process at a time may do, and until when by the database clock';
