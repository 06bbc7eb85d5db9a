import type { AttemptOutcome } from '../core/outcome.ts';
import type { Queryable } from '../platform/db.ts';

/** The queue: runs are made from journal rows, claimed under a lease, renewed, finished, taken over. */

export type Subscription = { readonly handler: string; readonly source: number; readonly regex: string };

/**
 * Makes the runs of accepted events that one of these handlers wants, oldest first, and gives how many events got
 * theirs. Event and runs change in one statement: there is no moment in which an event is taken but has no runs.
 */
export async function planRuns(
  db: Queryable,
  subscriptions: readonly Subscription[],
  { aboveId, now, limit }: { aboveId: number; now: Date; limit: number },
): Promise<number> {
  const result = await db.query({
    name: 'plan_runs',
    text: `
with wanted as (
  select * from unnest($1::text[], $2::smallint[], $3::text[]) as wanted(handler, source, regex)
),
due as (
  select id, source, event_type, created_at from posthorn.events
  where status = 'accepted' and id > $4 and exists (
    select from wanted where wanted.source = events.source and coalesce(event_type, '') ~ wanted.regex)
  order by id limit $6 for update skip locked
),
made as (
  insert into posthorn.runs (event, handler, next_attempt_at)
  select due.id, wanted.handler, least(due.created_at, $5)
  from due join wanted on wanted.source = due.source and coalesce(due.event_type, '') ~ wanted.regex
  returning event
),
counted as (select event, count(*)::int as runs from made group by event)
update posthorn.events set status = 'processing', open_runs = counted.runs
from counted where events.id = counted.event`,
    values: [
      subscriptions.map(({ handler }) => handler),
      subscriptions.map(({ source }) => source),
      subscriptions.map(({ regex }) => regex),
      aboveId,
      now,
      limit,
    ],
  });
  return result.rowCount ?? 0;
}

/** The id of a row that arrived before `before`: transactions that wrote smaller ids have long ended. */
export async function findSettledId(db: Queryable, before: Date): Promise<number> {
  const { rows } = await db.query<{ id: number }>(
    'select id from posthorn.events where received_at < $1 order by received_at desc, id desc limit 1',
    [before],
  );
  return rows[0]?.id ?? 0;
}

/** A claimed run with what its handler is told; `epoch` is the claim's and is named by every later mark. */
export type ClaimedRun = {
  readonly id: string;
  readonly epoch: number;
  readonly handler: string;
  readonly attempts: number;
  readonly deaths: number;
  readonly deferredSince: Date | null;
  readonly replay: number;
  readonly event: number;
  readonly source: string;
  readonly eventId: string;
  readonly eventType: string | null;
  readonly site: string | null;
  readonly receivedAt: Date;
};

const claimed = `
  returning runs.id, runs.lease_epoch as epoch, runs.handler, runs.attempts, runs.deaths,
    runs.deferred_since as "deferredSince", runs.replay, runs.event, sources.code as source,
    events.event_id as "eventId", events.event_type as "eventType", events.site, events.received_at as "receivedAt"`;

/**
 * Claims up to `limit` due runs of one handler, those due longest first, for `leaseMs`. Runs whose worker died are
 * left to claimSuspect. The lease ends by the database's own clock.
 */
export async function claimRuns(
  db: Queryable,
  {
    handler,
    holder,
    leaseMs,
    limit,
    now,
  }: { handler: string; holder: string; leaseMs: number; limit: number; now: Date },
): Promise<ClaimedRun[]> {
  const { rows } = await db.query<ClaimedRun>({
    name: 'claim_runs',
    text: `
with due as (
  select id from posthorn.runs
  where handler = $1 and status = 'waiting' and deaths = 0 and next_attempt_at <= $2
  order by next_attempt_at, event limit $3 for update skip locked
)
update posthorn.runs set status = 'running', lease_holder = $4, lease_epoch = lease_epoch + 1, attempts = attempts + 1,
  started_at = $2, lease_until = clock_timestamp() + $5 * interval '1 millisecond'
from due, posthorn.events join posthorn.sources on sources.id = events.source
where runs.id = due.id and events.id = runs.event ${claimed}`,
    values: [handler, now, limit, holder, leaseMs],
  });
  return rows;
}

/** Whether a run whose worker died is due at one of these handlers. */
export async function hasSuspect(db: Queryable, handlers: readonly string[], now: Date): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>({
    name: 'has_suspect',
    text: `select exists (select from posthorn.runs
      where status = 'waiting' and deaths > 0 and next_attempt_at <= $1 and handler = any($2::text[])) as found`,
    values: [now, handlers],
  });
  return rows[0]?.found === true;
}

/** Claims the one run, of those whose worker died, that is due longest. */
export async function claimSuspect(
  db: Queryable,
  {
    handlers,
    holder,
    leaseMs,
    now,
  }: { handlers: readonly string[]; holder: string; leaseMs: number; now: Date },
): Promise<ClaimedRun | undefined> {
  const { rows } = await db.query<ClaimedRun>(
    `
with due as (
  select id from posthorn.runs
  where status = 'waiting' and deaths > 0 and next_attempt_at <= $1 and handler = any($2::text[])
  order by next_attempt_at limit 1 for update skip locked
)
update posthorn.runs set status = 'running', lease_holder = $3, lease_epoch = lease_epoch + 1, attempts = attempts + 1,
  started_at = $1, lease_until = clock_timestamp() + $4 * interval '1 millisecond'
from due, posthorn.events join posthorn.sources on sources.id = events.source
where runs.id = due.id and events.id = runs.event ${claimed}`,
    [now, handlers, holder, leaseMs],
  );
  return rows[0];
}

/** Renews the leases of one holder's runs, all in one statement; gives the ids that it still holds. */
export async function renewLeases(
  db: Queryable,
  { holder, runs, leaseMs }: { holder: string; runs: readonly string[]; leaseMs: number },
): Promise<Set<string>> {
  const { rows } = await db.query<{ id: string }>(
    `update posthorn.runs set lease_until = clock_timestamp() + $3 * interval '1 millisecond'
     where id = any($2::uuid[]) and status = 'running' and lease_holder = $1 and lease_until > clock_timestamp()
     returning id`,
    [holder, runs, leaseMs],
  );
  return new Set(rows.map(({ id }) => id));
}

/** Ends the leases of a holder that is known to be dead, so that nobody waits for them. */
export async function expireLeases(db: Queryable, holder: string): Promise<void> {
  await db.query(
    `update posthorn.runs set lease_until = clock_timestamp() where status = 'running' and lease_holder = $1`,
    [holder],
  );
}

/** Lowers the event's open runs and sets its status, in the statement that ended the runs in `ended`. */
const settleEvents = `
update posthorn.events set
  open_runs = open_runs - ended.runs,
  status = case when ended.failed or events.status = 'failed' then 'failed'
    when open_runs = ended.runs then 'success' else events.status end,
  processed_at = case when open_runs = ended.runs then ended.at end
from (
  select event, count(*)::int as runs, bool_or(status = 'failed') as failed, max(at) as at
  from ended_runs where status in ('done', 'failed') group by event
) as ended
where events.id = ended.event`;

/** How a try ended, as the store writes it. Times are by platform/clock. */
export type RunEnd = {
  readonly outcome: AttemptOutcome;
  readonly status: 'done' | 'failed' | 'waiting';
  readonly endedAt: Date;
  /** When a waiting run is due again. */
  readonly nextAttemptAt: Date;
  /** False for a deferral: it uses up no attempt. */
  readonly countsAttempt: boolean;
  readonly deferredSince: Date | null;
  readonly error: string | null;
};

/**
 * Marks the end of a try. Names the claim's epoch: false means that somebody else has the run by now, so the
 * caller rolls back. Run first, then event, as everywhere.
 */
export async function finishRun(
  db: Queryable,
  run: Pick<ClaimedRun, 'id' | 'epoch'>,
  end: RunEnd,
  { inTransactionOfRun = false }: { inTransactionOfRun?: boolean } = {},
): Promise<boolean> {
  const { rows } = await db.query<{ marked: boolean }>({
    name: 'finish_run',
    text: `
with ended_runs as (
  update posthorn.runs set status = $3, lease_holder = null, lease_until = null, next_attempt_at = $4,
    attempts = attempts - case when $5 then 0 else 1 end, deferred_since = $6
  where id = $1 and lease_epoch = $2 and status = 'running'
    -- Set when the run's transaction began, gone when it ended: a handler may have committed by itself.
    and (not $10 or current_setting('posthorn.run', true) = $1::text)
  returning id, event, status, started_at, lease_epoch, $7::timestamptz as at
),
attempt as (
  insert into posthorn.run_attempts (run, n, started_at, ended_at, outcome, error)
  select id, lease_epoch, started_at, at, $8, $9 from ended_runs
),
settled as (${settleEvents})
select exists (select from ended_runs) as marked`,
    values: [
      run.id,
      run.epoch,
      end.status,
      end.nextAttemptAt,
      end.countsAttempt,
      end.deferredSince,
      end.endedAt,
      end.outcome,
      end.error,
      inTransactionOfRun,
    ],
  });
  return rows[0]?.marked === true;
}

/** Gives a claim back as if it had not been made. */
export async function giveBackRun(db: Queryable, run: Pick<ClaimedRun, 'id' | 'epoch'>): Promise<void> {
  await db.query(
    `update posthorn.runs set status = 'waiting', lease_holder = null, lease_until = null, attempts = attempts - 1
     where id = $1 and lease_epoch = $2 and status = 'running'`,
    [run.id, run.epoch],
  );
}

export type TakenOver = {
  readonly run: string;
  readonly handler: string;
  readonly status: 'waiting' | 'failed';
};

/**
 * Takes runs of this handler from holders whose lease ran out: each counts a death and waits again, or is failed
 * (`crashed`) at its last one.
 */
export async function takeOverRuns(
  db: Queryable,
  {
    handler,
    maxDeaths,
    maxAttempts,
    now,
  }: { handler: string; maxDeaths: number; maxAttempts: number; now: Date },
): Promise<TakenOver[]> {
  const { rows } = await db.query<TakenOver>({
    name: 'take_over_runs',
    text: `
with expired as (
  select id from posthorn.runs
  where status = 'running' and lease_until < clock_timestamp() and handler = $1
  order by lease_until limit 100 for update skip locked
),
ended_runs as (
  update posthorn.runs set lease_holder = null, lease_until = null, deaths = deaths + 1, next_attempt_at = $2,
    status = case when deaths + 1 >= $3 or attempts >= $4 then 'failed' else 'waiting' end
  from expired where runs.id = expired.id
  returning runs.id, event, handler, status, started_at, lease_epoch, $2::timestamptz as at
),
attempt as (
  insert into posthorn.run_attempts (run, n, started_at, ended_at, outcome, error)
  select id, lease_epoch, started_at, at, 'crashed', 'the worker died or stood still before the run ended' from ended_runs
),
settled as (${settleEvents})
select id as run, handler, status from ended_runs`,
    values: [handler, now, maxDeaths, maxAttempts],
  });
  return rows;
}
