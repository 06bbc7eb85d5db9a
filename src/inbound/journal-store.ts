import type { ArrivalWay } from '../core/envelope.ts';
import { type BulkParameters, type BulkStatement, runBulk } from '../platform/bulk-statement.ts';
import type { Pool } from '../platform/db.ts';

/** A row of the journal and its body, as they are written. Times are milliseconds since 1970. */
export type JournalRow = {
  readonly source: number;
  readonly eventId: string | null;
  /** The sender's own id where the event's is another; null = the same. */
  readonly senderEventId: string | null;
  /** Ids of the events inside, where one request holds several. */
  readonly itemIds: readonly string[] | null;
  readonly claimedEventId: string | null;
  readonly eventType: string | null;
  readonly site: string | null;
  readonly status: 'accepted' | 'skipped' | 'rejected' | 'handshake';
  readonly reason: string | null;
  /** Bytes of the body as it arrived; a rejected row may keep fewer. */
  readonly size: number;
  readonly receivedAt: number;
  readonly via: ArrivalWay;
  readonly clientIp: string | null;
  readonly method: string;
  readonly query: string;
  /** JSON text of an array of [name, value]. */
  readonly headers: string;
  readonly contentType: string | null;
  readonly body: Buffer;
};

/**
 * Inserts journal rows and their bodies in one statement and one commit. Gives the indexes of the rows that were
 * duplicates and so were left out; nearly always none.
 */
export async function insertJournalRows(
  pool: Pool,
  rows: readonly JournalRow[],
  { named }: { named: boolean },
): Promise<ReadonlySet<number>> {
  const duplicates = await runBulk(pool, insertStatement, {
    named,
    write: (parameters) => writeRows(parameters, rows),
  });
  return duplicates === null ? none : new Set(duplicates.split(',').map(Number));
}

const none: ReadonlySet<number> = new Set();

const insertStatement: BulkStatement = {
  name: 'insert_journal_rows',
  parameters: 17,
  text: `
with durable as materialized (
  -- IN-3: no role, database or pooler setting weakens an acknowledgement.
  select set_config('synchronous_commit',
    case current_setting('synchronous_commit') when 'remote_apply' then 'remote_apply' else 'on' end, true) as level
),
input as materialized (
  select nextval('posthorn.events_id_seq') as id, item.*
  from durable, unnest($1::int2[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
    $8::int4[], $9::float8[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[],
    $16::bytea[], $17::text[]) with ordinality
    as item(source, event_id, claimed_event_id, event_type, site, status, reason, size, received_at, via, client_ip,
      method, query, headers, content_type, body, ids, number)
),
-- Sorted, so that batches of several writers that overlap lock their keys in one order and never deadlock.
written as (
  insert into posthorn.events (id, source, event_id, sender_event_id, claimed_event_id, event_type, site, status,
    reason, size, received_at, via, client_ip, item_ids)
  select id, source, event_id, coalesce(ids::json ->> 'sender', event_id), claimed_event_id, event_type, site, status, reason, size,
    to_timestamp(received_at / 1000), via, client_ip::inet,
    case when ids is not null and ids::json -> 'items' is not null
      then array(select json_array_elements_text(ids::json -> 'items')) end
  from input order by source, event_id collate "C"
  on conflict (source, event_id) where event_id is not null do nothing
  returning id
),
bodies as (
  insert into posthorn.event_bodies (event, method, query, headers, content_type, body)
  select id, method, query, headers::json, content_type, body from input join written using (id)
)
-- A key that was not written is a duplicate.
select string_agg((number - 1)::text, ',') from input where id not in (select id from written)`,
};

function writeRows(parameters: BulkParameters, rows: readonly JournalRow[]): void {
  parameters.int2(rows, (row) => row.source);
  parameters.text(rows, (row) => row.eventId);
  parameters.text(rows, (row) => row.claimedEventId);
  parameters.text(rows, (row) => row.eventType);
  parameters.text(rows, (row) => row.site);
  parameters.text(rows, (row) => row.status);
  parameters.text(rows, (row) => row.reason);
  parameters.int4(rows, (row) => row.size);
  parameters.float8(rows, (row) => row.receivedAt);
  parameters.text(rows, (row) => row.via);
  parameters.text(rows, (row) => row.clientIp);
  parameters.text(rows, (row) => row.method);
  parameters.text(rows, (row) => row.query);
  parameters.text(rows, (row) => row.headers);
  parameters.text(rows, (row) => row.contentType);
  parameters.bytea(rows, (row) => row.body);
  // Few senders have either, so both travel in one parameter that is nearly always null.
  parameters.text(rows, idsOf);
}

function idsOf({ senderEventId, itemIds }: JournalRow): string | null {
  if (senderEventId === null && itemIds === null) return null;
  return JSON.stringify({ sender: senderEventId ?? undefined, items: itemIds ?? undefined });
}

/** Registers the codes of the configuration and gives each its id. */
export async function registerSources(pool: Pool, codes: readonly string[]): Promise<Map<string, number>> {
  await pool.query(
    `insert into posthorn.sources (code)
     select code from unnest($1::text[]) as code where code not in (select code from posthorn.sources)
     order by code on conflict (code) do nothing`,
    [codes],
  );
  const { rows } = await pool.query<{ id: number; code: string }>(
    'select id, code from posthorn.sources where code = any($1::text[])',
    [codes],
  );
  return new Map(rows.map(({ id, code }) => [code, id]));
}
