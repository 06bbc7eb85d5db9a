-- What the schemes of senders need beside the journal. Old code beside it: works, it knows none of it.

alter table posthorn.events add column item_ids text[] collate "C";
comment on column posthorn.events.item_ids is 'Ids of the events inside, where one request holds several';

-- Secrets that a sender hands over in its handshake (Asana, Notion): encrypted, AES-256-GCM, AAD = the source's code.
create table posthorn.source_secrets (
  source smallint primary key,
  secret bytea not null,
  created_at timestamptz not null default now(),
  shown_at timestamptz
);
comment on table posthorn.source_secrets is 'Secrets that senders handed over, encrypted with a key that is not in the database';

-- Tokens of senders that sign a token instead of the body (Mailgun): each holds for one body.
create table posthorn.used_tokens (
  source smallint not null,
  token text collate "C" not null check (length(token) between 1 and 200),
  body_digest bytea not null,
  used_at timestamptz not null default now(),
  primary key (source, token)
);
create index used_tokens_used_at on posthorn.used_tokens (used_at);
comment on table posthorn.used_tokens is 'Tokens that were used, each with the digest of the body that it came with';

-- URLs of senders that are fetched to confirm a subscription (AWS SNS). Taking one moves its next try, so that a process
-- that is killed leaves it to be tried again.
create table posthorn.callbacks (
  id bigint generated always as identity primary key,
  source smallint not null,
  url text not null,
  status text collate "C" not null default 'waiting' check (status in ('waiting', 'done', 'failed')),
  attempts integer not null default 0,
  next_attempt_at timestamptz not null,
  created_at timestamptz not null default now(),
  unique (source, url)
);
create index callbacks_due on posthorn.callbacks (next_attempt_at) where status = 'waiting';
comment on table posthorn.callbacks is 'URLs that confirm a subscription at a sender, fetched from the queue';
