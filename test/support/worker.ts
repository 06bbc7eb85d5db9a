import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { createInboundWorker, type Handler, Listeners, registerSources } from '../../src/inbound/index.ts';
import { insertJournalRows, type JournalRow } from '../../src/inbound/journal-store.ts';
import type { Planner } from '../../src/inbound/plan.ts';
import type { Work } from '../../src/inbound/work.ts';
import { createPool, type Pool } from '../../src/platform/db.ts';
import { createTestDatabase, quietLog, type TestDatabase } from './database.ts';
import { journalRow } from './journal-row.ts';
import { waitFor } from './wait-for.ts';

/** A clock that stands until it is told to go on. */
export function fakeClock(at = 1_790_000_000_000) {
  return {
    at,
    now() {
      return this.at;
    },
    advance(ms: number) {
      this.at += ms;
    },
  };
}

export type TestWorker = {
  readonly work: Work;
  readonly planner: Planner;
  readonly listeners: Listeners;
  readonly pool: Pool;
  readonly leasePool: Pool;
  readonly holder: string;
  round(): Promise<void>;
  idle(): Promise<void>;
  /** Lets the answer to one claim's commit get lost. */
  loseClaim(): Promise<void>;
  close(): Promise<void>;
};

/** A worker in this process whose rounds are made by hand; it is not polling. */
export async function createWorker(
  database: TestDatabase,
  handlers: readonly Handler[],
  clock: { now(): number },
): Promise<TestWorker> {
  const holder = randomUUID();
  const make = (name: string, most: number, numbers = true) =>
    createPool({ address: database.address, name, most, log: quietLog, numbers, pipeline: !numbers });
  const pools = { pool: make('work', 5), txPool: make('handlers', 20, false), leasePool: make('lease', 1) };
  const sourceIds = await registerSources(pools.pool, [...new Set(handlers.map(({ source }) => source))]);
  const listeners = new Listeners(quietLog);
  const worker = createInboundWorker(
    handlers,
    { holder, sourceIds, listeners },
    { ...pools, clock, log: quietLog },
  );
  const { work, planner } = worker;
  return {
    work,
    planner,
    listeners,
    ...pools,
    holder,
    round: async () => {
      await planner.run();
      await work.run();
    },
    idle: async () => void (await waitFor('the handlers to end', () => work.runningCount === 0)),
    loseClaim: async () => {
      const { pool } = pools;
      const connect = pool.connect.bind(pool);
      let isLost = false;
      // A claim asks for a client by promise, single statements by callback.
      pool.connect = ((callback?: never) => {
        if (callback !== undefined || isLost) return connect(callback as never);
        isLost = true;
        return Promise.reject(new Error('connection lost'));
      }) as typeof connect;
      await work.run();
      pool.connect = connect;
      await work.run();
    },
    close: async () => {
      await worker.stop(0);
      for (const pool of Object.values(pools)) await pool.end();
    },
  };
}

export function handler(run: Handler['run'], changes: Partial<Handler> = {}): Handler {
  return {
    name: 'app',
    source: 'github',
    patterns: ['*'],
    concurrency: 10,
    timeoutMs: 60_000,
    maxDeaths: 3,
    run,
    ...changes,
  };
}

/** Journals accepted events and gives their ids, in order. */
export async function journalEvents(
  database: TestDatabase,
  changes: Partial<JournalRow>[],
): Promise<number[]> {
  const source = (await registerSources(database.pool, ['github'])).get('github') as number;
  const rows = changes.map((change) => journalRow(source, change));
  await insertJournalRows(database.pool, rows, { named: false });
  const { rows: stored } = await database.pool.query(
    'select id from posthorn.events order by id desc limit $1',
    [rows.length],
  );
  return stored.map(({ id }) => id).reverse();
}

/** Registers hooks: a database with a table `effects`, a standing clock, workers that are closed after each test. */
export function useWorkers() {
  const clock = fakeClock();
  let database: TestDatabase;
  let workers: TestWorker[] = [];
  beforeAll(async () => {
    database = await createTestDatabase();
    await database.pool.query('create table public.effects (event bigint not null)');
  });
  afterAll(() => database.drop());
  beforeEach(async () => {
    clock.at = 1_790_000_000_000;
    await database.pool.query(
      'truncate posthorn.events, posthorn.event_bodies, posthorn.runs, posthorn.run_attempts, public.effects',
    );
  });
  afterEach(async () => {
    for (const worker of workers) await worker.close();
    workers = [];
  });
  const rows = async (sql: string) => (await database.pool.query(sql)).rows;
  return {
    clock,
    query: (sql: string, params?: unknown[]) => database.pool.query(sql, params),
    connect: () => database.pool.connect(),
    pool: () => database.pool,
    journal: (changes: Partial<JournalRow>[]) => journalEvents(database, changes),
    start: async (...handlers: Handler[]) => {
      const worker = await createWorker(database, handlers, clock);
      workers.push(worker);
      return worker;
    },
    events: () => rows('select id, status, open_runs, processed_at from posthorn.events order by id'),
    runs: () => rows('select * from posthorn.runs order by event, handler'),
    attempts: () => rows('select n, outcome, error from posthorn.run_attempts order by n'),
    effects: async () => (await rows('select count(*)::int as n from public.effects'))[0].n as number,
  };
}

/** The effect that the tests count: one row in public.effects, written in the handler's transaction. */
export const recordEffect: Handler['run'] = async (event, { tx }) => {
  await tx.query('insert into public.effects values ($1)', [event.id]);
};
