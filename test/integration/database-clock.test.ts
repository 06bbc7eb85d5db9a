import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { DatabaseClock } from '../../src/platform/database-clock.ts';
import { createPool, type Pool, type PoolClient } from '../../src/platform/db.ts';
import type { Log } from '../../src/platform/log.ts';
import { createTestDatabase, quietLog, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPool({ address: database.address, name: 'lease', most: 1, log: quietLog });
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});
afterEach(() => void vi.restoreAllMocks());

/** Lets the database answer another time, as one whose clock was set does. */
function databaseSays(shiftMs: number) {
  vi.restoreAllMocks();
  const connect = pool.connect.bind(pool) as () => Promise<PoolClient>;
  vi.spyOn(pool, 'connect').mockImplementation((async () => {
    const client = await connect();
    return {
      query: async () => ({ rows: [{ ms: Date.now() + shiftMs }] }),
      release: (broken?: boolean) => client.release(broken),
    };
  }) as never);
}

function listeningLog() {
  const lines: { event: string; byMs?: number }[] = [];
  const log = { warn: (line: (typeof lines)[number]) => lines.push(line), debug: () => {} } as unknown as Log;
  return { log, lines };
}

it('[SAFE-5] now is the database clock, whatever this machine says', async () => {
  const clock = new DatabaseClock({ pool, log: quietLog });
  await clock.start();
  clock.stop();
  const before = Date.now();
  vi.spyOn(Date, 'now').mockReturnValue(before - 3_600_000);
  const { rows } = await database.pool.query<{ ms: number }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
  );
  expect(Math.abs(clock.now() - (rows[0]?.ms as number))).toBeLessThan(200);
});

it('[SAFE-5] a jump of the database clock over 5 s is followed and logged, a small one only followed', async () => {
  const { log, lines } = listeningLog();
  const clock = new DatabaseClock({ pool, log });
  await clock.measure();
  databaseSays(4_000);
  await clock.measure();
  expect(Math.abs(clock.now() - Date.now() - 4_000)).toBeLessThan(200);
  expect(lines).toEqual([]);
  databaseSays(-60_000);
  await clock.measure();
  expect(Math.abs(clock.now() - Date.now() + 60_000)).toBeLessThan(200);
  expect(lines).toMatchObject([{ event: 'clock.jumped' }]);
  expect(lines[0]?.byMs).toBeLessThan(-60_000);
});

it('[SAFE-5] a first measurement far from the machine clock is named as a difference', async () => {
  const { log, lines } = listeningLog();
  databaseSays(3_600_000);
  await new DatabaseClock({ pool, log }).measure();
  expect(lines).toMatchObject([{ event: 'clock.differs' }]);
});

it('[SAFE-5] a database that does not answer leaves the clock going', async () => {
  const clock = new DatabaseClock({ pool, log: quietLog });
  await clock.measure();
  vi.spyOn(pool, 'connect').mockRejectedValue(new Error('connection refused') as never);
  const before = clock.now();
  await clock.measure();
  expect(clock.now() - before).toBeLessThan(1_000);
  expect(clock.now()).toBeGreaterThanOrEqual(before);
});

it('[SAFE-5] does not start without the database, as what it says until then would be due at any time', async () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { syscall: 'connect' });
  vi.spyOn(pool, 'connect').mockRejectedValue(refused as never);
  const clock = new DatabaseClock({ pool, log: quietLog });
  await expect(clock.start()).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE' });
});
