import type { EventStatus } from '../core/outcome.ts';
import type { Queryable } from '../platform/db.ts';

/** A line of the journal as operators see it. */
export type EventLine = {
  readonly id: number;
  readonly source: string;
  readonly eventId: string | null;
  readonly eventType: string | null;
  readonly status: EventStatus;
  readonly reason: string | null;
  readonly receivedAt: Date;
};

export type AttemptLine = {
  readonly n: number;
  readonly startedAt: Date;
  readonly endedAt: Date;
  readonly outcome: string;
  readonly error: string | null;
  /** What the command or the receiver said; null where a handler has no way to say anything. */
  readonly output: string | null;
};

export type RunLine = {
  readonly id: string;
  readonly handler: string;
  readonly status: string;
  readonly attempts: number;
  readonly nextAttemptAt: Date;
  readonly tries: AttemptLine[];
};

export type EventDetail = EventLine & {
  readonly claimedEventId: string | null;
  readonly site: string | null;
  readonly size: number;
  readonly via: string;
  readonly clientIp: string | null;
  readonly createdAt: Date;
  readonly processedAt: Date | null;
  readonly method: string | null;
  readonly query: string | null;
  readonly contentType: string | null;
  readonly headers: [string, string][] | null;
  readonly body: Buffer | null;
  readonly runs: RunLine[];
};

const line = `events.id, sources.code as source, events.event_id as "eventId", events.event_type as "eventType",
  events.status, events.reason, events.received_at as "receivedAt"`;

/** Newest first; `beforeId` continues where a page ended. */
export async function listEvents(
  db: Queryable,
  { limit, beforeId }: { limit: number; beforeId: number | undefined },
): Promise<EventLine[]> {
  const { rows } = await db.query<EventLine>(
    `select ${line} from posthorn.events join posthorn.sources on sources.id = events.source
     where $2::bigint is null or events.id < $2 order by events.id desc limit $1`,
    [limit, beforeId ?? null],
  );
  return rows;
}

/**
 * Events that became visible lately, oldest first. Batches commit out of the order of their ids, so a reader that
 * follows the journal looks back 5 s each time and leaves out what it has shown.
 */
export async function listEventsSince(db: Queryable, afterId: number, limit: number): Promise<EventLine[]> {
  const { rows } = await db.query<EventLine>(
    `select ${line} from posthorn.events join posthorn.sources on sources.id = events.source
     where events.id > $1 order by events.id limit $2`,
    [afterId, limit],
  );
  return rows;
}

/** The id below which nothing new can appear: the newest row that the database made over 5 s ago. */
export async function findTailStart(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ id: number }>(
    `select id from posthorn.events where created_at < now() - interval '5 s' order by id desc limit 1`,
  );
  return rows[0]?.id ?? 0;
}

/** Those of these events whose handlers are done, or that get none; in the order in which that came to be. */
export async function listSettledEvents(db: Queryable, ids: readonly number[]): Promise<EventLine[]> {
  const { rows } = await db.query<EventLine>(
    `select ${line} from posthorn.events join posthorn.sources on sources.id = events.source
     where events.id = any($1::bigint[]) and events.status not in ('accepted', 'processing')
     order by events.processed_at, events.id`,
    [ids],
  );
  return rows;
}

export async function findEvent(db: Queryable, id: number): Promise<EventDetail | undefined> {
  const { rows } = await db.query<Omit<EventDetail, 'runs'>>(
    `select ${line}, events.claimed_event_id as "claimedEventId", events.site, events.size, events.via,
       host(events.client_ip) as "clientIp", events.created_at as "createdAt", events.processed_at as "processedAt",
       bodies.method, bodies.query, bodies.content_type as "contentType", bodies.headers, bodies.body
     from posthorn.events join posthorn.sources on sources.id = events.source
       left join posthorn.event_bodies as bodies on bodies.event = events.id
     where events.id = $1`,
    [id],
  );
  return rows[0] === undefined ? undefined : { ...rows[0], runs: await listRuns(db, id) };
}

async function listRuns(db: Queryable, event: number): Promise<RunLine[]> {
  const { rows: runs } = await db.query<Omit<RunLine, 'tries'>>(
    `select id, handler, status, attempts, next_attempt_at as "nextAttemptAt" from posthorn.runs
     where event = $1 order by handler, replay`,
    [event],
  );
  const { rows: tries } = await db.query<AttemptLine & { run: string }>(
    `select run, n, started_at as "startedAt", ended_at as "endedAt", outcome, error, output from posthorn.run_attempts
     where run = any($1::uuid[]) order by run, n`,
    [runs.map(({ id }) => id)],
  );
  return runs.map((run) => ({
    ...run,
    tries: tries.filter((attempt) => attempt.run === run.id).map(({ run: _run, ...attempt }) => attempt),
  }));
}

/** What a handler may load of its event. */
export async function findEventBody(
  db: Queryable,
  event: number,
): Promise<
  { headers: [string, string][]; query: string; contentType: string | null; body: Buffer } | undefined
> {
  const { rows } = await db.query<{
    headers: [string, string][];
    query: string;
    contentType: string | null;
    body: Buffer;
  }>(
    'select headers, query, content_type as "contentType", body from posthorn.event_bodies where event = $1',
    [event],
  );
  return rows[0];
}

/** Of the items of an event: the first earlier event of the same source that was taken and held the same item. */
export async function findItemHolders(
  db: Queryable,
  event: number,
  ids: readonly string[],
): Promise<Map<string, number>> {
  const { rows } = await db.query<{ item: string; holder: number }>(
    `select item, min(earlier.id) as holder
     from posthorn.events earlier join posthorn.events this on this.id = $1 and this.source = earlier.source,
       unnest(earlier.item_ids) as item
     -- The partial index is found by the second condition.
     where earlier.item_ids && $2::text[] and earlier.item_ids is not null and earlier.id < $1
       and earlier.status <> 'rejected' and item = any($2::text[])
     group by item`,
    [event, ids],
  );
  return new Map(rows.map(({ item, holder }) => [item, Number(holder)]));
}
