import { afterAll, beforeAll, expect, it } from 'vitest';
import { claimRuns } from '../../src/inbound/claim-store.ts';
import { planRuns } from '../../src/inbound/plan-store.ts';
import { finishRun, type RunEnd } from '../../src/inbound/run-store.ts';
import type { PoolClient } from '../../src/platform/db.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { journalEvents } from '../support/worker.ts';

const events = 1_000;
const handlers = ['left', 'right'];
const now = new Date(1_790_000_000_000);

let database: TestDatabase;
let clients: PoolClient[];

beforeAll(async () => {
  database = await createTestDatabase();
  clients = await Promise.all(handlers.map(() => database.pool.connect()));
});

afterAll(async () => {
  for (const client of clients) client.release();
  await database.drop();
});

it('[IN-13] two runs of one event that end in the same instant, 1,000 times: no event sticks in processing', async () => {
  const ids = await journalEvents(
    database,
    Array.from({ length: events }, () => ({})),
  );
  const { rows: sources } = await database.pool.query('select id from posthorn.sources');
  const subscriptions = handlers.map((handler) => ({ handler, source: sources[0].id, regex: '.*' }));
  expect(await planRuns(database.pool, subscriptions, { ids, now })).toHaveLength(events);
  const holder = crypto.randomUUID();
  const claims = {
    holder,
    leaseMs: 600_000,
    limit: events,
    concurrency: events,
    now,
    from: new Date(0),
    isSuspect: false,
  };
  const [left, right] = await Promise.all(
    handlers.map(async (handler) => {
      const runs = await claimRuns(database.pool, { handler, ...claims });
      if (runs === 'busy') throw new Error('nobody else claims here');
      return new Map(runs.map((run) => [run.event, run]));
    }),
  );
  expect([left?.size, right?.size]).toEqual([events, events]);

  const end: RunEnd = {
    outcome: 'done',
    status: 'done',
    endedAt: now,
    nextAttemptAt: now,
    countsAttempt: true,
    deferredSince: null,
    output: null,
    error: null,
  };
  for (const [event, run] of left ?? []) {
    const pair = [run, right?.get(event) ?? run];
    // Both begin before either commits: the later one waits for the event's row and must then see it as it became.
    for (const client of clients) await client.query('begin');
    const marked = await Promise.all(
      clients.map(async (client, at) => {
        const isMarked = (await finishRun(client, pair[at] as typeof run, end)) !== undefined;
        await client.query('commit');
        return isMarked;
      }),
    );
    expect(marked).toEqual([true, true]);
  }

  const { rows } = await database.pool.query(
    'select status, open_runs, count(*)::int as events from posthorn.events group by status, open_runs',
  );
  expect(rows).toEqual([{ status: 'success', open_runs: 0, events }]);
  const { rows: open } = await database.pool.query(`select id from posthorn.runs where status <> 'done'`);
  expect(open).toEqual([]);
});
