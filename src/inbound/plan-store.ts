import type { Queryable } from '../platform/db.ts';

/** Accepted events become runs here: which rows are new, which of them a handler wants, and their runs. */

export type Subscription = { readonly handler: string; readonly source: number; readonly regex: string };

/** A span of ids, both inclusive. */
export type Span = { readonly first: number; readonly last: number };

export type Examined = {
  /** Accepted events that a handler wants. */
  readonly wanted: number[];
  /** The greatest id that was looked at; null where there was none. */
  readonly lastId: number | null;
  readonly count: number;
};

const wants = `
wanted as (select * from unnest($1::smallint[], $2::text[]) as wanted(source, regex))`;
const isWanted = `status = 'accepted' and exists (
  select from wanted where wanted.source = rows.source and coalesce(rows.event_type, '') ~ wanted.regex)`;

/** The id of the newest row; what comes later is greater, or belongs to a transaction that is still open. */
export async function findLastId(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ id: number }>('select id from posthorn.events order by id desc limit 1');
  return rows[0]?.id ?? 0;
}

/**
 * Looks at the next `limit` rows above an id, whatever their status, and at those inside `holes`: ids that were not
 * visible when greater ones were. Gives also the holes among the new rows, and the ids that became visible.
 */
export async function examineFresh(
  db: Queryable,
  subscriptions: readonly Subscription[],
  { aboveId, holes, limit }: { aboveId: number; holes: readonly Span[]; limit: number },
): Promise<Examined & { holes: Span[]; filled: number[] }> {
  const { rows } = await db.query<Examined & { firsts: number[]; lasts: number[]; filled: number[] }>({
    name: 'examine_fresh',
    text: `
with ${wants},
fresh as materialized (
  select id, status, source, event_type from posthorn.events where id > $3 order by id limit $4
),
late as materialized (
  select events.id, status, source, event_type
  from unnest($5::bigint[], $6::bigint[]) as hole(first, last)
    join posthorn.events on events.id between hole.first and hole.last
),
steps as (select id, lag(id, 1, $3) over (order by id) as before from fresh),
gaps as (select before + 1 as first, id - 1 as last from steps where id > before + 1)
select
  array(select id from (table fresh union all table late) as rows where ${isWanted} order by id) as wanted,
  (select max(id) from fresh) as "lastId",
  (select count(*)::int from fresh) as count,
  array(select first from gaps order by first) as firsts,
  array(select last from gaps order by first) as lasts,
  array(select id from late) as filled`,
    values: [
      ...unnested(subscriptions),
      aboveId,
      limit,
      holes.map(({ first }) => first),
      holes.map(({ last }) => last),
    ],
  });
  const { firsts, lasts, filled, ...examined } = rows[0] as (typeof rows)[number];
  return {
    ...withNumbers(examined),
    holes: numbers(firsts).map((first, index) => ({ first, last: numbers(lasts)[index] as number })),
    filled: numbers(filled),
  };
}

/** Looks at the next `limit` rows above an id that are still accepted. */
export async function examineAccepted(
  db: Queryable,
  subscriptions: readonly Subscription[],
  { aboveId, limit }: { aboveId: number; limit: number },
): Promise<Examined> {
  const { rows } = await db.query<Examined>({
    name: 'examine_accepted',
    text: `
with ${wants},
rows as materialized (
  select id, status, source, event_type from posthorn.events
  where status = 'accepted' and id > $3 order by id limit $4
)
select array(select id from rows where ${isWanted} order by id) as wanted,
  (select max(id) from rows) as "lastId", (select count(*)::int from rows) as count`,
    values: [...unnested(subscriptions), aboveId, limit],
  });
  return withNumbers(rows[0] as Examined);
}

/** An event whose runs were made just now. */
export type TakenEvent = {
  readonly source: string;
  readonly eventId: string;
  readonly eventType: string | null;
};

/**
 * Makes the runs of those of these events that are still accepted and not being taken by another worker. Event and
 * runs change in one statement: there is no moment in which an event is taken but has no runs.
 */
export async function planRuns(
  db: Queryable,
  subscriptions: readonly Subscription[],
  { ids, now }: { ids: readonly number[]; now: Date },
): Promise<TakenEvent[]> {
  const { rows } = await db.query<TakenEvent>({
    name: 'plan_runs',
    text: `
with wanted as (select * from unnest($1::smallint[], $2::text[], $3::text[]) as wanted(source, regex, handler)),
-- Without the status: PostgreSQL would look for the ids among all that was accepted of late.
mine as materialized (
  select id, source, event_type, created_at, status from posthorn.events
  where id = any($4::bigint[]) order by id for update skip locked
),
due as (select id, source, event_type, created_at from mine where status = 'accepted'),
made as (
  insert into posthorn.runs (event, handler, next_attempt_at)
  select due.id, wanted.handler, least(due.created_at, $5)
  from due join wanted on wanted.source = due.source and coalesce(due.event_type, '') ~ wanted.regex
  returning event
),
counted as (select event, count(*)::int as runs from made group by event)
update posthorn.events set status = 'processing', open_runs = counted.runs
from counted, posthorn.sources
where events.id = counted.event and sources.id = events.source
returning sources.code as source, events.event_id as "eventId", events.event_type as "eventType"`,
    values: [...unnested(subscriptions), subscriptions.map(({ handler }) => handler), ids, now],
  });
  return rows;
}

function unnested(subscriptions: readonly Subscription[]): [number[], string[]] {
  return [subscriptions.map(({ source }) => source), subscriptions.map(({ regex }) => regex)];
}

/** node-postgres leaves bigint[] as text. */
function numbers(texts: readonly (string | number)[]): number[] {
  return texts.map(Number);
}

function withNumbers<T extends Examined>(examined: T): T {
  return { ...examined, wanted: numbers(examined.wanted) };
}
