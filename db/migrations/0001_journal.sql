-- The journal and its queue: every later feature hangs on these tables.
-- Old code beside it: there is none, this is the first version.
--
-- No foreign keys on the hot path: each would add a look-up and a row lock per webhook (a lock on one row of
-- sources, held by every request). The statements that write are few and write both sides at once.

create table posthorn.sources (
  id smallint generated always as identity primary key,
  code text collate "C" not null unique check (code ~ '^[a-z0-9][a-z0-9_-]{0,63}$')
);
comment on table posthorn.sources is 'Codes of sources; events name the id, so that a rename changes one row';

create table posthorn.events (
  id bigint primary key,
  source smallint not null,
  event_id text collate "C" check (length(event_id) between 1 and 200),
  sender_event_id text collate "C",
  delivery_id text collate "C",
  claimed_event_id text collate "C",
  -- Two simple checks: a counted repetition in the pattern cost a tenth of the rate of inserting.
  event_type text collate "C" check (length(event_type) between 1 and 200 and event_type !~ '[^ -~]'),
  site text,
  status text collate "C" not null check (status in
    ('accepted', 'processing', 'success', 'failed', 'rejected', 'skipped', 'quarantined', 'handshake')),
  reason text collate "C",
  open_runs integer not null default 0 check (open_runs >= 0),
  size integer not null check (size >= 0),
  created_at timestamptz not null default now(),
  received_at timestamptz not null,
  processed_at timestamptz,
  replays integer not null default 0 check (replays >= 0),
  via text collate "C" not null check (via in ('direct', 'relay', 'reconcile')),
  client_ip inet,
  -- IN-4: what nobody has verified never holds the key of a true event.
  check (event_id is null or status not in ('rejected', 'handshake'))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
comment on table posthorn.events is 'The journal: one narrow row a webhook, accepted or rejected';

create sequence posthorn.events_id_seq as bigint owned by posthorn.events.id;

-- The truth of de-duplication (IN-3). Rejected rows have no event_id and stay outside.
create unique index events_source_event_id on posthorn.events (source, event_id) where event_id is not null;
create index events_source_id on posthorn.events (source, id);
create index events_received_at on posthorn.events (received_at, id);
-- What waits, runs or needs a look; in a settled journal it is nearly empty.
create index events_open on posthorn.events (status, id) where status not in ('success', 'skipped');
-- The sender's own id, where the unique index does not already find it.
create index events_sender_event_id on posthorn.events (source, sender_event_id)
  where sender_event_id is not null and sender_event_id is distinct from event_id;

create table posthorn.event_bodies (
  event bigint primary key,
  method text collate "C" not null,
  query text not null,
  headers json not null,
  content_type text,
  body bytea not null
);
-- Bodies are written once and mostly read once: compressing them cost more CPU than it saved disk.
alter table posthorn.event_bodies alter column body set storage external;
comment on table posthorn.event_bodies is 'The bytes that arrived, written with the journal row and never updated';

create function posthorn.refuse_illegal_move() returns trigger language plpgsql as $$
begin
  if new.status = old.status
    or (old.status = 'accepted' and new.status in ('processing', 'skipped', 'quarantined'))
    or (old.status = 'processing' and new.status in ('success', 'failed'))
    or (old.status in ('success', 'failed', 'skipped', 'quarantined') and new.status = 'processing') then
    return new;
  end if;
  raise exception 'event % cannot go from % to %', old.id, old.status, new.status using errcode = 'check_violation';
end
$$;
create trigger events_moves before update of status on posthorn.events
  for each row when (old.status is distinct from new.status) execute function posthorn.refuse_illegal_move();

create table posthorn.runs (
  id uuid primary key default gen_random_uuid(),
  event bigint not null,
  handler text collate "C" not null check (length(handler) between 1 and 200),
  replay integer not null default 0,
  status text collate "C" not null default 'waiting' check (status in ('waiting', 'running', 'done', 'failed')),
  attempts integer not null default 0 check (attempts >= 0),
  deaths integer not null default 0 check (deaths >= 0),
  next_attempt_at timestamptz not null default now(),
  deferred_since timestamptz,
  started_at timestamptz,
  lease_holder text collate "C",
  lease_epoch bigint not null default 0,
  lease_until timestamptz,
  unique (event, handler, replay),
  check ((status = 'running') = (lease_holder is not null and lease_until is not null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
comment on table posthorn.runs is 'The queue: one row a handler of an event';

-- A new run is due since its event was journaled, so this order is "oldest first", and what waits for a later try
-- is not even looked at.
create index runs_due on posthorn.runs (handler, next_attempt_at, event) where status = 'waiting' and deaths = 0;
-- Runs whose worker died: each next try has a worker to itself.
create index runs_suspect on posthorn.runs (next_attempt_at) where status = 'waiting' and deaths > 0;
create index runs_leased on posthorn.runs (lease_until) where status = 'running';

create table posthorn.run_attempts (
  run uuid not null,
  -- The epoch of the try's claim: one more at each, whether or not it used up an attempt.
  n bigint not null,
  started_at timestamptz not null,
  ended_at timestamptz not null,
  outcome text collate "C" not null check (outcome in
    ('done', 'failed', 'rejected', 'retry_later', 'timed_out', 'crashed')),
  output text,
  error text,
  primary key (run, n)
);
comment on table posthorn.run_attempts is 'One row a try of a run, written when it ended';
