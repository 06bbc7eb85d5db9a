import type { AttemptOutcome } from '../core/outcome.ts';
import type { Queryable } from '../platform/db.ts';
import { type ClaimedRun, claimDue } from './claim-store.ts';

/** What becomes of claimed runs: leases renewed, ends marked, runs given back or taken over. */

/** Renews the leases of one holder's runs, all in one statement; gives the ids that it still holds. */
export async function renewLeases(
  db: Queryable,
  { holder, runs, leaseMs }: { holder: string; runs: readonly string[]; leaseMs: number },
): Promise<Set<string>> {
  const { rows } = await db.query<{ id: string }>(
    `update posthorn.runs set lease_until = clock_timestamp() + $3 * interval '1 millisecond'
     where id = any($2::uuid[]) and lease_holder = $1 and lease_until > clock_timestamp()
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

/**
 * Lowers the event's open runs and sets its status, in the statement that ended runs. `ended`: how many of an event, and
 * whether one failed.
 */
const settleEvents = (ended: string) => `
update posthorn.events set
  open_runs = open_runs - ended.runs,
  status = case when ended.failed or events.status = 'failed' then 'failed'
    when open_runs = ended.runs then 'success' else events.status end,
  processed_at = case when open_runs = ended.runs then ended.at end
from (${ended}) as ended
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

/** How the next run of the handler is claimed into the slot that the ended one leaves. */
export type NextClaim = { readonly leaseMs: number; readonly now: Date; readonly from: Date };

/**
 * Marks the end of a try. Names the claim's holder and epoch: undefined means that somebody else has the run by now, so the
 * caller rolls back. Run first, then event, as everywhere. With `next` the slot is handed on: the handler's next due
 * run is claimed in the same statement, so that the number of running ones stays as it is and no lock is needed.
 *
 * In the run's own transaction a mark that changes nothing fails, so that a commit sent behind it commits nothing either.
 */
export async function finishRun(
  db: Queryable,
  run: Pick<ClaimedRun, 'id' | 'epoch' | 'holder' | 'handler'>,
  end: RunEnd,
  { inTransactionOfRun = false, next }: { inTransactionOfRun?: boolean; next?: NextClaim | undefined } = {},
): Promise<{ next: ClaimedRun | undefined } | undefined> {
  const { rows } = await db.query<{ marked: boolean; next: ClaimedRow | null }>({
    ...(next === undefined ? finishText : finishAndClaimText),
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
      run.holder,
      ...(next === undefined ? [] : [run.handler, next.now, next.leaseMs, next.from]),
    ],
  });
  const [row] = rows;
  if (row?.marked !== true) return undefined;
  return { next: row.next === null ? undefined : withDates(row.next) };
}

const marked =
  'case when exists (select from ended_runs) then true when $10 then posthorn.refuse_mark() else false end';

const ending = `
with ended_runs as (
  update posthorn.runs set status = $3, lease_holder = null, lease_until = null, next_attempt_at = $4,
    attempts = attempts - case when $5 then 0 else 1 end, deferred_since = $6
  -- Who holds a lease is running. Saying so would let PostgreSQL look for the row among what ran of late.
  where id = $1 and lease_epoch = $2 and lease_holder = $12
    -- Set when the run's transaction began, gone when it ended: a handler may have committed by itself.
    and (not $10 or current_setting('posthorn.run', true) = $1::text)
  returning id, event, status, started_at, lease_epoch, $7::timestamptz as at
),
attempt as (
  insert into posthorn.run_attempts (run, n, started_at, ended_at, outcome, error, output)
  select id, lease_epoch, started_at, at, $8, $9, $11 from ended_runs
),
settled as (${settleEvents(`select event, 1 as runs, status = 'failed' as failed, at
  from ended_runs where status <> 'waiting'`)})
`;

const finishText = { name: 'finish_run', text: `${ending} select ${marked} as marked, null as next` };

const finishAndClaimText = {
  name: 'finish_run_and_claim',
  text: `${ending},
due as (
  select id from posthorn.runs
  where handler = $13 and status = 'waiting' and deaths = 0 and next_attempt_at between $16 and $14
    and exists (select from ended_runs)
  order by next_attempt_at, event limit 1 for update skip locked
),
claimed as (${claimDue({ now: '$14', holder: '$12', leaseMs: '$15' })})
select ${marked} as marked, (select to_json(claimed) from claimed) as next`,
};

/**
 * Has the marks planned for a new connection of handlers as for large tables (`byIndex` of platform/db); its settings
 * stay as the handlers' own statements want them.
 */
export async function planMarks(client: Queryable): Promise<void> {
  const at = new Date(0);
  const nobody = { id: '00000000-0000-0000-0000-000000000000', epoch: 0, holder: '', handler: '' };
  const end = {
    outcome: 'done',
    status: 'done',
    endedAt: at,
    nextAttemptAt: at,
    countsAttempt: true,
  } as const;
  const none = { deferredSince: null, output: null, error: null };
  await client.query('set enable_seqscan = off; set plan_cache_mode = force_generic_plan');
  for (const next of [undefined, { leaseMs: 0, now: at, from: at }])
    await finishRun(client, nobody, { ...end, ...none }, { next });
  await client.query('reset enable_seqscan; reset plan_cache_mode');
}

/** SQLSTATE of a mark in the run's transaction that found no row. */
export const markRefused = 'PH001';

/** As JSON says it. */
type ClaimedRow = Omit<ClaimedRun, 'deferredSince' | 'receivedAt' | 'dueAt'> & {
  dueAt: string;
  deferredSince: string | null;
  receivedAt: string;
};

function withDates(row: ClaimedRow): ClaimedRun {
  const { deferredSince, receivedAt } = row;
  return {
    ...row,
    deferredSince: deferredSince === null ? null : new Date(deferredSince),
    receivedAt: new Date(receivedAt),
    dueAt: new Date(row.dueAt),
  };
}

const giveBack = `update posthorn.runs set status = 'waiting', lease_holder = null, lease_until = null,
  attempts = attempts - 1`;

/** Gives a claim back as if it had not been made; false: it is somebody else's by now, or has ended. */
export async function giveBackRun(
  db: Queryable,
  run: Pick<ClaimedRun, 'id' | 'epoch' | 'holder'>,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `${giveBack} where id = $1 and lease_epoch = $2 and lease_holder = $3`,
    [run.id, run.epoch, run.holder],
  );
  return rowCount === 1;
}

/**
 * Gives back what this holder claimed without knowing it: the answer to a claim's commit was lost. Leases with more
 * than `restMs` left are so fresh that their claim may still be on its way here.
 */
export async function giveBackStrays(
  db: Queryable,
  { holder, known, restMs }: { holder: string; known: readonly string[]; restMs: number },
): Promise<void> {
  await db.query(
    `${giveBack} where status = 'running' and lease_holder = $1 and id <> all($2::uuid[])
       and lease_until < clock_timestamp() + $3 * interval '1 millisecond'`,
    [holder, known, restMs],
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
settled as (${settleEvents(`select event, count(*)::int as runs, true as failed, max(at) as at
  from ended_runs where status = 'failed' group by event`)})
select ended_runs.id as run, handler, ended_runs.status, sources.code as source, events.event_id as "eventId",
  events.event_type as "eventType"
from ended_runs join posthorn.events on events.id = ended_runs.event join posthorn.sources on sources.id = events.source`,
    values: [handlers.map(({ name }) => name), handlers.map(({ maxDeaths }) => maxDeaths), now, maxAttempts],
  });
  return rows;
}
