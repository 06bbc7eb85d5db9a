import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { JournalWriter } from '../../src/inbound/index.ts';
import type { JournalMetrics } from '../../src/inbound/journal.ts';
import { insertJournalRows, type JournalRow, registerSources } from '../../src/inbound/journal-store.ts';
import { createPool, type Pool } from '../../src/platform/db.ts';
import { createTestDatabase, quietLog, type TestDatabase } from '../support/database.ts';
import { startGateway } from '../support/gateway.ts';
import { journalRow } from '../support/journal-row.ts';

let database: TestDatabase;
let source: number;
const pools: Pool[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  source = (await registerSources(database.pool, ['github'])).get('github') as number;
});

afterAll(async () => {
  for (const pool of pools) await pool.end();
  await database.drop();
});

beforeEach(async () => {
  await database.pool.query('truncate posthorn.events, posthorn.event_bodies');
});

function row(changes: Partial<JournalRow> = {}): JournalRow {
  const own = { receivedAt: 1_790_000_000_123, clientIp: '127.0.0.1', headers: '[["Host","x"]]' };
  return journalRow(source, { ...own, size: 2, body: Buffer.from('{}'), ...changes });
}

function createWriter(
  options: { pool?: Pool; answerDeadlineMs?: number; metrics?: JournalMetrics } = {},
): JournalWriter {
  const pool =
    options.pool ?? createPool({ address: database.address, name: 'ingest', most: 3, log: quietLog });
  if (options.pool === undefined) pools.push(pool);
  return new JournalWriter({
    pool,
    log: quietLog,
    answerDeadlineMs: options.answerDeadlineMs ?? 10_000,
    named: true,
    ...(options.metrics === undefined ? {} : { metrics: options.metrics }),
  });
}

async function count(): Promise<number> {
  const { rows } = await database.pool.query(
    'select count(*)::int as n from posthorn.events join posthorn.event_bodies on event = id',
  );
  return rows[0].n;
}

it('[IN-3] 20 parallel sends of one event id over two gateways: 20 times 200, one row', async () => {
  const gateways = [await startGateway(database), await startGateway(database)];
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => gateways[n % 2]?.send({ id: 'one' })),
  );
  expect(answers.map((answer) => answer?.status)).toEqual(Array(20).fill(200));
  expect(await count()).toBe(1);
  for (const gateway of gateways) await gateway.close();
});

it('[IN-3] copies inside one batch share its outcome: one is recorded, the others are duplicates', async () => {
  const writer = createWriter();
  const results = await Promise.all(
    Array.from({ length: 10 }, () => writer.record(row({ eventId: 'copy' }))),
  );
  expect(results.filter((result) => result === 'recorded')).toHaveLength(1);
  expect(results.filter((result) => result === 'duplicate')).toHaveLength(9);
});

it('[IN-3] overlapping batches of four writers never deadlock and each key has one row', async () => {
  const { rows: before } = await database.pool.query(
    'select deadlocks from pg_stat_database where datname = current_database()',
  );
  const writers = Array.from({ length: 4 }, () => createWriter());
  const keys = Array.from({ length: 400 }, (_, n) => `key-${n}`);
  const results = await Promise.all(
    writers.flatMap((writer) => shuffled(keys).map((eventId) => writer.record(row({ eventId })))),
  );
  expect(results.filter((result) => result === 'recorded')).toHaveLength(400);
  expect(results.filter((result) => result === 'duplicate')).toHaveLength(1_200);
  expect(await count()).toBe(400);
  const { rows: after } = await database.pool.query(
    'select deadlocks from pg_stat_database where datname = current_database()',
  );
  expect(after[0].deadlocks).toBe(before[0].deadlocks);
});

it('[PERF-1] beside a batch in flight another starts once 24 rows have gathered; fewer wait for its commit', async () => {
  const sizes: number[] = [];
  const writer = createWriter({ metrics: { batchWritten: (rows) => sizes.push(rows) } });
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const recordApart = async (rows: number, key: string) => {
    const results: Promise<string>[] = [];
    for (let n = 0; n < rows; n++) {
      results.push(writer.record(row({ eventId: `${key}-${n}` })));
      await turn();
    }
    return results;
  };
  for (const waiting of [23, 24]) {
    const blocker = await database.pool.connect();
    await blocker.query('begin; lock table posthorn.events in share mode');
    const results: Promise<string>[] = [];
    try {
      results.push(...(await recordApart(1, `first-${waiting}`)));
      results.push(...(await recordApart(waiting, `next-${waiting}`)));
      await vi.waitFor(async () => {
        const { rows } = await database.pool.query(
          "select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
        );
        expect(rows[0].n).toBe(waiting < 24 ? 1 : 2);
      });
    } finally {
      await blocker.query('commit');
      blocker.release();
    }
    expect(await Promise.all(results)).toEqual(Array(1 + waiting).fill('recorded'));
  }
  expect(sizes.toSorted((a, b) => a - b)).toEqual([1, 1, 23, 24]);
});

it('[IN-13] rows without an event id find their bodies', async () => {
  const bodies = ['one', 'two', 'three'].map((text) => Buffer.from(text));
  const rejected = bodies.map((body) =>
    row({ eventId: null, status: 'rejected', reason: 'bad_signature', body }),
  );
  await insertJournalRows(database.pool, [row(), ...rejected, row({ body: Buffer.alloc(0) })], {
    named: true,
  });
  const { rows } = await database.pool.query(
    'select body from posthorn.events join posthorn.event_bodies on event = id order by id',
  );
  expect(rows.map(({ body }) => body.toString())).toEqual(['{}', 'one', 'two', 'three', '']);
});

it('[IN-13] odd characters in every text survive the packing', async () => {
  const odd = 'q"\\{},NULL\'\n\t\u{1f600}é null';
  const headers = JSON.stringify([['X', odd]]);
  await insertJournalRows(
    database.pool,
    [row({ query: odd, contentType: odd, site: odd, headers, claimedEventId: odd }), row({ site: 'NULL' })],
    { named: false },
  );
  const { rows } = await database.pool.query(
    'select query, content_type, site, headers, claimed_event_id, received_at from posthorn.events join posthorn.event_bodies on event = id order by id',
  );
  expect(rows[0]).toMatchObject({
    query: odd,
    content_type: odd,
    site: odd,
    headers: [['X', odd]],
    claimed_event_id: odd,
  });
  expect(rows[0].received_at.getTime()).toBe(1_790_000_000_123);
  expect(rows[1].site).toBe('NULL');
});

it('[IN-9] a row that PostgreSQL refuses does not hurt its batch', async () => {
  const writer = createWriter();
  const bad = row({ clientIp: 'not an address' });
  const ours = row({ size: -1 });
  const results = await Promise.all([row(), bad, row(), row(), ours, row()].map((one) => writer.record(one)));
  expect(results).toEqual(['recorded', 'unstorable', 'recorded', 'recorded', 'unavailable', 'recorded']);
  expect(await count()).toBe(4);
});

it('[IN-3] the insert is durable although the role, the database and the session say otherwise', async () => {
  const { pool } = database;
  await pool.query(`alter database ${database.address.database} set synchronous_commit = off`);
  await pool.query('create table public.seen (level text)');
  await pool.query(`create function public.see() returns trigger language plpgsql as
    $$ begin insert into public.seen values (current_setting('synchronous_commit')); return new; end $$`);
  await pool.query(
    'create trigger see before insert on posthorn.events for each row execute function public.see()',
  );
  const session = createPool({ address: database.address, name: 'ingest', most: 1, log: quietLog });
  await insertJournalRows(session, [row()], { named: true });
  await session.query('set synchronous_commit = local');
  await insertJournalRows(session, [row()], { named: true });
  await session.query('set synchronous_commit = remote_apply');
  await insertJournalRows(session, [row()], { named: true });
  const { rows: after } = await session.query(`select current_setting('synchronous_commit') as level`);
  const { rows } = await pool.query('select level from public.seen');
  await session.end();
  await pool.query('drop trigger see on posthorn.events; drop table public.seen; drop function public.see()');
  await pool.query(`alter database ${database.address.database} reset synchronous_commit`);
  expect(rows.map(({ level }) => level)).toEqual(['on', 'on', 'remote_apply']);
  expect(after[0].level).toBe('remote_apply');
});

it('[IN-9] with storage hanging every record is answered within its deadline and nothing piles up', async () => {
  const locker = await database.pool.connect();
  await locker.query('begin; lock table posthorn.events in access exclusive mode');
  const writer = createWriter({ answerDeadlineMs: 600 });
  const started = performance.now();
  const results = await Promise.all(Array.from({ length: 300 }, () => writer.record(row())));
  expect(performance.now() - started).toBeLessThan(600);
  expect(new Set(results)).toEqual(new Set(['unavailable']));
  await locker.query('rollback');
  locker.release();
  await writer.drain();
  expect(await writer.record(row())).toBe('recorded');
  await writer.drain();
  expect(writer.depth).toBe(0);
});

it('[IN-9] more than 10,000 waiting rows are refused at once', async () => {
  const locker = await database.pool.connect();
  await locker.query('begin; lock table posthorn.events in access exclusive mode');
  const writer = createWriter({ answerDeadlineMs: 900 });
  const waiting = Array.from({ length: 10_000 }, () => writer.record(row()));
  expect(writer.isFull).toBe(true);
  expect(await writer.record(row())).toBe('unavailable');
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['unavailable']));
  await locker.query('rollback');
  locker.release();
  await writer.drain();
});

it('[IN-9] bodies beyond the memory for them are 503 before they are read', async () => {
  const gateway = await startGateway(database);
  const huge = Array.from({ length: 70 }, () => gateway.send({ body: `"${'x'.repeat(1024 * 1024 - 10)}"` }));
  const answers = await Promise.all(huge);
  const statuses = answers.map(({ status }) => status);
  await gateway.close();
  expect(statuses.every((status) => status === 200 || status === 503)).toBe(true);
  expect(statuses.filter((status) => status === 200)).toHaveLength(await count());
});

it('[IN-13] an illegal move of a status is refused by the database', async () => {
  const writer = createWriter();
  await writer.record(row({ status: 'rejected', reason: 'stale', eventId: null }));
  await writer.record(row());
  const move = (from: string, to: string) =>
    database.pool.query('update posthorn.events set status = $2 where status = $1', [from, to]);
  for (const to of ['accepted', 'processing', 'success'])
    await expect(move('rejected', to)).rejects.toThrow(/cannot go from rejected/);
  await expect(move('accepted', 'success')).rejects.toThrow(/cannot go from accepted to success/);
  await expect(move('accepted', 'nonsense')).rejects.toThrow();
  await move('accepted', 'processing');
  await move('processing', 'failed');
});

it('[IN-4] the database itself refuses an event id on a rejected row', async () => {
  await expect(
    insertJournalRows(database.pool, [row({ status: 'rejected' })], { named: true }),
  ).rejects.toThrow(/check constraint/);
});

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
