import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { restOf } from '../../src/platform/clock.ts';
import { createPool, type Pool } from '../../src/platform/db.ts';
import { Leases } from '../../src/platform/lease.ts';
import { createTestDatabase, quietLog, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
const pools: Pool[] = [];
const all: Leases[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(async () => {
  for (const pool of pools) await pool.end();
  await database.drop();
});
beforeEach(() => database.pool.query('truncate posthorn.leases'));
afterEach(async () => {
  vi.restoreAllMocks();
  for (const leases of all.splice(0)) await leases.stop();
});

function createLeases(pool = createLeasePool()): Leases {
  const leases = new Leases({ pool, holder: randomUUID(), log: quietLog });
  all.push(leases);
  return leases;
}

function createLeasePool(): Pool {
  const pool = createPool({ address: database.address, name: 'lease', most: 1, log: quietLog });
  pools.push(pool);
  return pool;
}

const expire = () => database.pool.query(`update posthorn.leases set expires_at = clock_timestamp()`);

describe('leases', () => {
  it('[OUT-6] one process holds a lease; the next one gets a greater epoch when it was given back', async () => {
    const [one, two] = [createLeases(), createLeases()];
    const first = await one.take('sweep');
    expect(first).toMatchObject({ name: 'sweep', epoch: 1 });
    expect(await two.take('sweep')).toBeUndefined();
    await first?.giveBack();
    await first?.giveBack();
    expect(first?.signal.aborted).toBe(true);
    expect(first?.restMs()).toBe(0);
    expect(await two.take('sweep')).toMatchObject({ epoch: 2 });
    await expect(two.take('sweep')).rejects.toThrow(/holds the lease sweep already/);
  });

  it('[OUT-6] of many that take it at the same instant, one has it', async () => {
    const takers = Array.from({ length: 8 }, () => createLeases());
    for (const epoch of [1, 2, 3]) {
      const taken = (await Promise.all(takers.map((leases) => leases.take('sweep')))).filter(Boolean);
      expect(taken).toMatchObject([{ epoch }]);
      await taken[0]?.giveBack();
    }
  });

  it('[OUT-6] a lease that ended can be taken; its former holder learns it at the heartbeat', async () => {
    const [one, two] = [createLeases(), createLeases()];
    const first = await one.take('sweep');
    await expire();
    expect(await two.take('sweep')).toMatchObject({ epoch: 2 });
    await one.beat();
    expect(first?.signal.aborted).toBe(true);
    expect(String(first?.signal.reason)).toContain('another process took it');
    await one.stop();
    const { rows } = await database.pool.query(
      'select epoch, expires_at > clock_timestamp() as holds from posthorn.leases',
    );
    expect(rows).toEqual([{ epoch: 2, holds: true }]);
  });

  it('[OUT-6] a heartbeat renews; a thousand leases cost one statement', async () => {
    const pool = createLeasePool();
    const leases = createLeases(pool);
    for (let at = 0; at < 1_000; at++) await leases.take(`lease-${at}`);
    await database.pool.query(`update posthorn.leases set expires_at = clock_timestamp() + interval '1 s'`);
    const client = await pool.connect();
    const query = vi.spyOn(client, 'query');
    client.release();
    await leases.beat();
    expect(query).toHaveBeenCalledTimes(1);
    const { rows } = await database.pool.query(
      `select count(*)::int as n from posthorn.leases where expires_at > clock_timestamp() + interval '15 s'`,
    );
    expect(rows[0].n).toBe(1_000);
  });

  it('[OUT-6] a pool filled by slow queries does not lose a lease', async () => {
    const busy = createPool({ address: database.address, name: 'work', most: 2, log: quietLog });
    pools.push(busy);
    const leases = createLeases();
    const lease = await leases.take('sweep');
    await database.pool.query(`update posthorn.leases set expires_at = clock_timestamp() + interval '1 s'`);
    const slow = [1, 2, 3, 4].map(() => busy.query('select pg_sleep(1)'));
    await leases.beat();
    await Promise.all(slow);
    expect(lease?.signal.aborted).toBe(false);
    expect(await createLeases().take('sweep')).toBeUndefined();
  });

  it('[OUT-6] a stop gives all back', async () => {
    const [one, two] = [createLeases(), createLeases()];
    const held = [await one.take('a'), await one.take('b')];
    await one.stop();
    await one.stop();
    expect(held.map((lease) => lease?.signal.aborted)).toEqual([true, true]);
    expect(await two.take('a')).toMatchObject({ epoch: 2 });
  });

  it('[OUT-6] a lease is believed for 18 of its 20 s, by the clock that says less', async () => {
    const leases = createLeases();
    const lease = await leases.take('sweep');
    expect(lease?.restMs()).toBeGreaterThan(17_000);
    expect(lease?.restMs()).toBeLessThanOrEqual(18_000);
    const real = Date.now();
    vi.spyOn(Date, 'now').mockReturnValue(real + 17_000);
    expect(lease?.restMs()).toBeLessThanOrEqual(1_000);
    vi.spyOn(Date, 'now').mockReturnValue(real - 3_600_000);
    expect(lease?.restMs()).toBeGreaterThan(17_000);
    vi.spyOn(Date, 'now').mockReturnValue(real + 18_001);
    leases.dropUnbelieved();
    expect(lease?.signal.aborted).toBe(true);
    expect(lease?.restMs()).toBe(0);
  });

  it('[OUT-6] belief counts from before the heartbeat was sent', async () => {
    const pool = createLeasePool();
    const leases = createLeases(pool);
    const lease = await leases.take('sweep');
    const client = await pool.connect();
    const beat = leases.beat();
    await wait(300);
    client.release();
    await beat;
    expect(lease?.restMs()).toBeLessThanOrEqual(17_700);
  });

  it('[OUT-6] a heartbeat that fails leaves the lease until its belief ends', async () => {
    const pool = createLeasePool();
    const leases = createLeases(pool);
    const lease = await leases.take('sweep');
    vi.spyOn(pool, 'query').mockRejectedValueOnce(new Error('connection lost') as never);
    await leases.beat();
    expect(lease?.signal.aborted).toBe(false);
  });
});

it('[OUT-6] the rest of a span is what the stricter clock leaves', () => {
  const from = { monotonicMs: 1_000, wallMs: 5_000 };
  const rest = (monotonicMs: number, wallMs: number) => restOf(100, from, { monotonicMs, wallMs });
  expect(rest(1_040, 5_040)).toBe(60);
  expect(rest(1_040, 5_090)).toBe(10);
  expect(rest(1_090, 5_010)).toBe(10);
  expect(rest(1_010, -9_000)).toBe(90);
  expect(rest(1_010, 9_000_000)).toBe(0);
});
