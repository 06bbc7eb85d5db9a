-- The schema as the migrations make it; written by a test, not by hand.

create sequence posthorn.events_id_seq as bigint cache 1;

create domain posthorn.attempt_outcome as text collate "C" CHECK (VALUE = ANY (ARRAY['done'::text, 'failed'::text, 'rejected'::text, 'retry_later'::text, 'timed_out'::text, 'crashed'::text]));

create domain posthorn.count as integer CHECK (VALUE >= 0);

create domain posthorn.event_id as text collate "C" CHECK (length(VALUE) >= 1 AND length(VALUE) <= 200);

create domain posthorn.event_status as text collate "C" CHECK (VALUE = ANY (ARRAY['accepted'::text, 'processing'::text, 'success'::text, 'failed'::text, 'rejected'::text, 'skipped'::text, 'quarantined'::text, 'handshake'::text]));

create domain posthorn.event_type as text collate "C" CHECK (length(VALUE) >= 1 AND length(VALUE) <= 200 AND VALUE !~ '[^ -~]'::text);

create domain posthorn.handler_name as text collate "C" CHECK (length(VALUE) >= 1 AND length(VALUE) <= 200);

create domain posthorn.run_status as text collate "C" CHECK (VALUE = ANY (ARRAY['waiting'::text, 'running'::text, 'done'::text, 'failed'::text]));

create domain posthorn.via as text collate "C" CHECK (VALUE = ANY (ARRAY['direct'::text, 'relay'::text, 'reconcile'::text]));

create table posthorn.callbacks (
  id bigint generated always as identity not null,
  source smallint not null,
  url text not null,
  status text collate "C" default 'waiting'::text not null,
  attempts integer default 0 not null,
  next_attempt_at timestamp with time zone not null,
  created_at timestamp with time zone default now() not null,
  CHECK (status = ANY (ARRAY['waiting'::text, 'done'::text, 'failed'::text])),
  PRIMARY KEY (id),
  UNIQUE (source, url)
);
comment on table posthorn.callbacks is 'URLs that confirm a subscription at a sender, fetched from the queue';

create table posthorn.event_bodies (
  event bigint not null,
  method text collate "C" not null,
  query text not null,
  headers json not null,
  content_type text,
  body bytea storage external not null,
  PRIMARY KEY (event)
);
comment on table posthorn.event_bodies is 'The bytes that arrived, written with the journal row and never updated';

create table posthorn.events (
  id bigint not null,
  source smallint not null,
  event_id posthorn.event_id collate "C",
  sender_event_id text collate "C",
  delivery_id text collate "C",
  claimed_event_id text collate "C",
  event_type posthorn.event_type collate "C",
  site text,
  status posthorn.event_status collate "C" not null,
  reason text collate "C",
  open_runs posthorn.count default 0 not null,
  size posthorn.count not null,
  created_at timestamp with time zone default now() not null,
  received_at timestamp with time zone not null,
  processed_at timestamp with time zone,
  replays posthorn.count default 0 not null,
  via posthorn.via collate "C" not null,
  client_ip inet,
  item_ids text[] collate "C",
  CHECK (event_id IS NULL OR (status::text <> ALL (ARRAY['rejected'::text, 'handshake'::text]))),
  PRIMARY KEY (id)
) with (fillfactor=70, autovacuum_vacuum_scale_factor=0.02, autovacuum_analyze_scale_factor=0.02);
comment on table posthorn.events is 'The journal: one narrow row a webhook, accepted or rejected';

create table posthorn.leases (
  name text collate "C" not null,
  holder text collate "C" not null,
  epoch bigint not null,
  expires_at timestamp with time zone not null,
  CHECK (epoch > 0),
  CHECK (length(name) >= 1 AND length(name) <= 200),
  PRIMARY KEY (name)
) with (fillfactor=50);
comment on table posthorn.leases is 'Who may do what only one process at a time may do, and until when by the database clock';

create table posthorn.migrations (
  version integer not null,
  name text not null,
  checksum text not null,
  applied_at timestamp with time zone default now() not null,
  PRIMARY KEY (version)
);

create table posthorn.run_attempts (
  run uuid not null,
  n bigint not null,
  started_at timestamp with time zone not null,
  ended_at timestamp with time zone not null,
  outcome posthorn.attempt_outcome collate "C" not null,
  output text,
  error text,
  PRIMARY KEY (run, n)
);
comment on table posthorn.run_attempts is 'One row a try of a run, written when it ended';

create table posthorn.runs (
  id uuid default gen_random_uuid() not null,
  event bigint not null,
  handler posthorn.handler_name collate "C" not null,
  replay integer default 0 not null,
  status posthorn.run_status collate "C" default 'waiting'::text not null,
  attempts posthorn.count default 0 not null,
  deaths posthorn.count default 0 not null,
  next_attempt_at timestamp with time zone default now() not null,
  deferred_since timestamp with time zone,
  started_at timestamp with time zone,
  lease_holder text collate "C",
  lease_epoch bigint default 0 not null,
  lease_until timestamp with time zone,
  CHECK ((status::text = 'running'::text) = (lease_holder IS NOT NULL AND lease_until IS NOT NULL)),
  PRIMARY KEY (id),
  UNIQUE (event, handler, replay)
) with (fillfactor=70, autovacuum_vacuum_scale_factor=0.02, autovacuum_analyze_scale_factor=0.02);
comment on table posthorn.runs is 'The queue: one row a handler of an event';

create table posthorn.source_secrets (
  source smallint not null,
  secret bytea not null,
  created_at timestamp with time zone default now() not null,
  shown_at timestamp with time zone,
  PRIMARY KEY (source)
);
comment on table posthorn.source_secrets is 'Secrets that senders handed over, encrypted with a key that is not in the database';

create table posthorn.sources (
  id smallint generated always as identity not null,
  code text collate "C" not null,
  CHECK (code ~ '^[a-z0-9][a-z0-9_-]{0,63}$'::text),
  PRIMARY KEY (id),
  UNIQUE (code)
);
comment on table posthorn.sources is 'Codes of sources; events name the id, so that a rename changes one row';

create table posthorn.used_tokens (
  source smallint not null,
  token text collate "C" not null,
  body_digest bytea not null,
  used_at timestamp with time zone default now() not null,
  CHECK (length(token) >= 1 AND length(token) <= 200),
  PRIMARY KEY (source, token)
);
comment on table posthorn.used_tokens is 'Tokens that were used, each with the digest of the body that it came with';

CREATE INDEX callbacks_due ON posthorn.callbacks USING btree (next_attempt_at) WHERE (status = 'waiting'::text);

CREATE INDEX events_item_ids ON posthorn.events USING gin (item_ids) WHERE (item_ids IS NOT NULL);

CREATE INDEX events_open ON posthorn.events USING btree (status, id) WHERE ((status)::text <> ALL (ARRAY['success'::text, 'skipped'::text]));

CREATE INDEX events_received_at ON posthorn.events USING btree (received_at, id);

CREATE INDEX events_sender_event_id ON posthorn.events USING btree (source, sender_event_id) WHERE ((sender_event_id IS NOT NULL) AND (sender_event_id IS DISTINCT FROM (event_id)::text));

CREATE UNIQUE INDEX events_source_event_id ON posthorn.events USING btree (source, event_id) WHERE (event_id IS NOT NULL);

CREATE INDEX events_source_id ON posthorn.events USING btree (source, id);

CREATE INDEX runs_due ON posthorn.runs USING btree (handler, next_attempt_at, event) WHERE (((status)::text = 'waiting'::text) AND ((deaths)::integer = 0));

CREATE INDEX runs_running ON posthorn.runs USING btree (handler, lease_until) WHERE ((status)::text = 'running'::text);

CREATE INDEX runs_suspect ON posthorn.runs USING btree (next_attempt_at) WHERE (((status)::text = 'waiting'::text) AND ((deaths)::integer > 0));

CREATE INDEX used_tokens_used_at ON posthorn.used_tokens USING btree (used_at);

CREATE OR REPLACE FUNCTION posthorn.refuse_illegal_move()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if new.status = old.status
    or (old.status = 'accepted' and new.status in ('processing', 'skipped', 'quarantined'))
    or (old.status = 'processing' and new.status in ('success', 'failed'))
    or (old.status in ('success', 'failed', 'skipped', 'quarantined') and new.status = 'processing') then
    return new;
  end if;
  raise exception 'event % cannot go from % to %', old.id, old.status, new.status using errcode = 'check_violation';
end
$function$
;

CREATE OR REPLACE FUNCTION posthorn.refuse_mark()
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'the run is not held by this claim any more' using errcode = 'PH001';
end
$function$
;

CREATE TRIGGER events_moves BEFORE UPDATE OF status ON posthorn.events FOR EACH ROW EXECUTE FUNCTION posthorn.refuse_illegal_move();
