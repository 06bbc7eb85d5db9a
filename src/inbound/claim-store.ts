import { type Pool, type PoolClient, type Queryable, withTransaction } from '../platform/db.ts';

/** The queue's front: which runs are due, and claiming them under a lease. */

/**
 * A claimed run with what its handler is told. Every later mark names the claim's holder and epoch: a claim that a crash
 * of the server lost is made again with the same epoch, perhaps by another holder.
 */
export type ClaimedRun = {
  readonly id: string;
  readonly epoch: number;
  readonly holder: string;
  readonly handler: string;
  readonly attempts: number;
  readonly deaths: number;
  readonly dueAt: Date;
  readonly deferredSince: Date | null;
  readonly replay: number;
  readonly event: number;
  readonly source: string;
  readonly eventId: string;
  readonly eventType: string | null;
  readonly site: string | null;
  readonly receivedAt: Date;
};

/** A handler that has something due; `isSuspect`: a run whose worker died. */
export type DueHandler = { readonly handler: string; readonly isSuspect: boolean };

/**
 * Which handlers have something due: a suspect of any in `handlers`, the longest due one first; then whatever is due of
 * those in `open`. `from` of a handler: nothing that was due before is looked at. What was claimed since the last vacuum
 * still stands in the index, and looking behind it at each claim would take longer and longer while a backlog drains.
 */
export async function findDue(
  db: Queryable,
  { handlers, open }: { handlers: readonly string[]; open: readonly { name: string; from: Date }[] },
  now: Date,
): Promise<DueHandler[]> {
  const { rows } = await db.query<DueHandler>({
    name: 'find_due',
    text: `
(select handler, true as "isSuspect" from posthorn.runs
  where status = 'waiting' and deaths > 0 and next_attempt_at <= $2 and handler = any($1::text[])
  order by next_attempt_at limit 1)
union all
-- Lateral with a limit, not "exists": PostgreSQL might read all that is due to join it.
select name, false from unnest($3::text[], $4::timestamptz[]) as mine(name, since), lateral (
  select from posthorn.runs
  where handler = name and status = 'waiting' and deaths = 0 and next_attempt_at between since and $2
  limit 1) as due`,
    values: [handlers, now, open.map(({ name }) => name), open.map(({ from }) => from)],
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
    /** As in findDue. */
    from: Date;
    isSuspect: boolean;
  },
): Promise<ClaimedRun[] | 'busy'> {
  return withTransaction(pool, async (client) => {
    // The lock first, in a statement of its own: the claim's snapshot must be newer. A claim that a crash of the
    // server loses is only made again, and holder and epoch refuse its mark: it need not wait for the disk.
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
  { handler, concurrency, holder, leaseMs, limit, now, from, isSuspect }: Parameters<typeof claimRuns>[1],
): Promise<ClaimedRun[]> {
  const { rows } = await client.query<ClaimedRun>({
    name: isSuspect ? 'claim_suspect' : 'claim_runs',
    text: `
with running as (
  select count(*)::int as runs from posthorn.runs where handler = $1 and status = 'running'
),
due as (
  select id from posthorn.runs
  where handler = $1 and status = 'waiting' and deaths ${isSuspect ? '> 0' : '= 0'}
    and next_attempt_at between $7 and $2
  order by next_attempt_at, event limit greatest(0, least($5, $6 - (select runs from running)))
  for update skip locked
)
${claimDue({ now: '$2', holder: '$3', leaseMs: '$4' })}`,
    values: [handler, now, holder, leaseMs, isSuspect ? 1 : limit, concurrency, from],
  });
  return rows;
}

/** Claims the runs in `due`; the arguments are the names of parameters. */
export function claimDue({ now, holder, leaseMs }: { now: string; holder: string; leaseMs: string }): string {
  return `
update posthorn.runs set status = 'running', lease_holder = ${holder}, lease_epoch = lease_epoch + 1,
  attempts = attempts + 1, started_at = ${now}, lease_until = clock_timestamp() + ${leaseMs} * interval '1 millisecond'
from due, posthorn.events join posthorn.sources on sources.id = events.source
where runs.id = due.id and events.id = runs.event
returning runs.id, runs.lease_epoch as epoch, runs.lease_holder as holder, runs.handler, runs.attempts, runs.deaths,
  runs.next_attempt_at as "dueAt", runs.deferred_since as "deferredSince", runs.replay, runs.event, sources.code as source,
  events.event_id as "eventId", events.event_type as "eventType", events.site, events.received_at as "receivedAt"`;
}
