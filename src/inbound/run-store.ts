import type { AttemptOutcome } from '../core/outcome.ts';
import { type Pool, type PoolClient, type Queryable, withTransaction } from '../platform/db.ts';

/** The queue: runs are claimed under a lease, renewed, finished, given back, taken over. */

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

/** Which of these handlers have something due, longest first; `isSuspect`: its worker died. */
export async function findDue(
  db: Queryable,
  handlers: readonly string[],
  now: Date,
): Promise<{ handler: string; isSuspect: boolean }[]> {
  const { rows } = await db.query<{ handler: string; isSuspect: boolean }>({
    name: 'find_due',
    text: `
(select handler, true as "isSuspect" from posthorn.runs
  where status = 'waiting' and deaths > 0 and next_attempt_at <= $2 and handler = any($1::text[])
  order by next_attempt_at limit 1)
union all
select handler, false from unnest($1::text[]) as mine(handler)
where exists (select from posthorn.runs
  where runs.handler = mine.handler and status = 'waiting' and deaths = 0 and next_attempt_at <= $2)`,
    values: [handlers, now],
  });
  return rows;
}

/** The class of the advisory locks of handlers; the other key is a hash of the name. */
const claimLock = 705_118_401;

/**
 * Claims up to `limit` due runs of one handler, those due longest first, for `leaseMs` by the database's own clock; no
 * more than leave the whole cluster within `concurrency`, for which one claim at a time of a handler goes on. `busy`:
 * another worker claims just now. A suspect (its worker died) is claimed alone.
 */
export async function claimRuns(
  pool: Pool,
  claim: {
    handler: string;
    concurrency: number;
    holder: string;
    leaseMs: number;
    limit: number;
    now: Date;
    isSuspect: boolean;
  },
): Promise<ClaimedRun[] | 'busy'> {
  return withTransaction(pool, async (client) => {
    // The lock first, in a statement of its own: the claim's snapshot must be newer. A claim that a crash of the
    // server loses is only made again, and its epoch refuses its mark: it need not wait for the disk.
    const { rows } = await client.query<{ mine: boolean }>({
      name: 'lock_claims',
      text: `select pg_try_advisory_xact_lock($1, hashtext($2)) as mine, set_config('synchronous_commit', 'off', true)`,
      values: [claimLock, claim.handler],
    });
    if (rows[0]?.mine !== true) return 'busy';
    return claimLocked(client, claim);
  });
}

async function claimLocked(
  client: PoolClient,
  { handler, concurrency, holder, leaseMs, limit, now, isSuspect }: Parameters<typeof claimRuns>[1],
): Promise<ClaimedRun[]> {
  const { rows } = await client.query<ClaimedRun>({
    name: isSuspect ? 'claim_suspect' : 'claim_runs',
    text: `
with running as (
  select count(*)::int as runs from posthorn.runs where handler = $1 and status = 'running'
),
due as (
  select id from posthorn.runs
  where handler = $1 and status = 'waiting' and deaths ${isSuspect ? '> 0' : '= 0'} and next_attempt_at <= $2
  order by next_attempt_at, event limit greatest(0, least($3, $6 - (select runs from running)))
  for update skip locked
)
update posthorn.runs set status = 'running', lease_holder = $4, lease_epoch = lease_epoch + 1, attempts = attempts + 1,
  started_at = $2, lease_until = clock_timestamp() + $5 * interval '1 millisecond'
from due, posthorn.events join posthorn.sources on sources.id = events.source
where runs.id = due.id and events.id = runs.event
returning runs.id, runs.lease_epoch as epoch, runs.handler, runs.attempts, runs.deaths,
  runs.deferred_since as "deferredSince", runs.replay, runs.event, sources.code as source,
  events.event_id as "eventId", events.event_type as "eventType", events.site, events.received_at as "receivedAt"`,
    values: [handler, now, isSuspect ? 1 : limit, holder, leaseMs, concurrency],
  });
  return rows;
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
  /** What the handler said, where it says something (exec, http). */
  readonly output: string | null;
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
  insert into posthorn.run_attempts (run, n, started_at, ended_at, outcome, error, output)
  select id, lease_epoch, started_at, at, $8, $9, $11 from ended_runs
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
      end.output,
    ],
  });
  return rows[0]?.marked === true;
}

/** Gives a claim back as if it had not been made; false: it is somebody else's by now, or has ended. */
export async function giveBackRun(db: Queryable, run: Pick<ClaimedRun, 'id' | 'epoch'>): Promise<boolean> {
  const { rowCount } = await db.query(
    `update posthorn.runs set status = 'waiting', lease_holder = null, lease_until = null, attempts = attempts - 1
     where id = $1 and lease_epoch = $2 and status = 'running'`,
    [run.id, run.epoch],
  );
  return rowCount === 1;
}

/** Gives back what this holder claimed without knowing it: the answer to a claim's commit was lost. */
export async function giveBackStrays(db: Queryable, holder: string, known: readonly string[]): Promise<void> {
  await db.query(
    `update posthorn.runs set status = 'waiting', lease_holder = null, lease_until = null, attempts = attempts - 1
     where status = 'running' and lease_holder = $1 and id <> all($2::uuid[])`,
    [holder, known],
  );
}

export type TakenOver = {
  readonly run: string;
  readonly handler: string;
  readonly status: 'waiting' | 'failed';
  readonly source: string;
  readonly eventId: string;
  readonly eventType: string | null;
};

/**
 * Takes runs of these handlers from holders whose lease ran out: each counts a death and waits again, or is failed
 * (`crashed`) at its last one.
 */
export async function takeOverRuns(
  db: Queryable,
  {
    handlers,
    maxAttempts,
    now,
  }: { handlers: readonly { name: string; maxDeaths: number }[]; maxAttempts: number; now: Date },
): Promise<TakenOver[]> {
  const { rows } = await db.query<TakenOver>({
    name: 'take_over_runs',
    text: `
with expired as (
  select id, most_deaths
  from unnest($1::text[], $2::int[]) as mine(name, most_deaths)
    join posthorn.runs on runs.handler = mine.name and status = 'running' and lease_until < clock_timestamp()
  limit 100 for update of runs skip locked
),
ended_runs as (
  update posthorn.runs set lease_holder = null, lease_until = null, deaths = deaths + 1, next_attempt_at = $3,
    status = case when deaths + 1 >= most_deaths or attempts >= $4 then 'failed' else 'waiting' end
  from expired where runs.id = expired.id
  returning runs.id, event, handler, status, started_at, lease_epoch, $3::timestamptz as at
),
attempt as (
  insert into posthorn.run_attempts (run, n, started_at, ended_at, outcome, error)
  select id, lease_epoch, started_at, at, 'crashed', 'the worker died or stood still before the run ended' from ended_runs
),
settled as (${settleEvents})
select ended_runs.id as run, handler, ended_runs.status, sources.code as source, events.event_id as "eventId",
  events.event_type as "eventType"
from ended_runs join posthorn.events on events.id = ended_runs.event join posthorn.sources on sources.id = events.source`,
    values: [handlers.map(({ name }) => name), handlers.map(({ maxDeaths }) => maxDeaths), now, maxAttempts],
  });
  return rows;
}
