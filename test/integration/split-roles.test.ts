import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { hasPgbouncer, startPgbouncer } from '../support/pgbouncer.ts';
import { Sender } from '../support/sender.ts';
import { Installation, type Server } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';

const handlers = `export default (on) => {
  on('github', '*', async (event, { tx }) => {
    await tx.query('insert into public.effects (event_id, started) values ($1, clock_timestamp())', [event.eventId]);
  });
};`;
const config = (database: string) => `
sources: { github: { scheme: github, secretFile: secret } }
handlers: [{ name: app, module: ./handlers.js }]
log: { level: debug }
database: ${database}
`;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await database.pool.query('create table public.effects (event_id text, started timestamptz)');
});
afterAll(() => database.drop());

async function startBoth(
  installation: Installation,
  url: string,
): Promise<{ gateway: Server; worker: Server }> {
  const env = { DATABASE_URL: url };
  const [gateway, worker] = await Promise.all([
    installation.serve({ args: ['--roles', 'gateway,admin'], env }),
    installation.serve({ args: ['--roles', 'worker,admin'], env }),
  ]);
  return { gateway, worker };
}

const effects = async () =>
  (await database.pool.query('select event_id as id, started from public.effects')).rows as {
    id: string;
    started: Date;
  }[];

/** Sends one at a time, each when the one before was handled; gives how long the handlers let wait, in ms. */
async function waitsOf(gateway: Server, ids: readonly string[]): Promise<number[]> {
  const sender = new Sender(gateway.port);
  for (const id of ids) {
    await sender.send(id);
    await waitFor('the handler', async () => (await effects()).some((effect) => effect.id === id));
  }
  sender.close();
  expect(sender.acknowledged()).toEqual(ids);
  const { rows } = await database.pool.query<{ waited: number }>(
    `select extract(epoch from started - created_at)::float8 * 1000 as waited
     from public.effects join posthorn.events using (event_id) where event_id = any($1)`,
    [ids],
  );
  return rows.map(({ waited }) => waited).sort((a, b) => a - b);
}

const ids = (prefix: string) => Array.from({ length: 15 }, (_, at) => `${prefix}-${at}`);

describe('gateway and worker in two servers', () => {
  it('[OUT-8] a worker is woken by NOTIFY after the commit, which the inserting transaction never issues', async () => {
    const installation = new Installation(config('{}'), { 'handlers.js': handlers });
    try {
      const { gateway } = await startBoth(installation, database.url);
      const { rows: before } = await database.pool.query(`select count(*)::int as n from pg_stat_activity
        where datname = current_database() and query ~* '^listen posthorn_events'`);
      expect(before[0].n).toBe(1);
      const waits = await waitsOf(gateway, ids('notified'));
      // Polling alone would let half of them wait for longer than 500 ms.
      expect(waits[Math.floor(waits.length / 2)]).toBeLessThan(300);
      const { rows } = await database.pool.query<{ query: string }>(
        `select query from pg_stat_activity where datname = current_database() and application_name = 'posthorn notify'`,
      );
      expect(rows.map(({ query }) => query)).toEqual(['notify posthorn_events']);
    } finally {
      await installation.remove();
    }
  });

  it('[OUT-8] without a connection that listens, polling finds every event, and listening starts again', async () => {
    const installation = new Installation(config('{}'), { 'handlers.js': handlers });
    try {
      const { gateway } = await startBoth(installation, database.url);
      const listeners = () =>
        database.pool.query<{ pid: number }>(`select pid from pg_stat_activity
          where datname = current_database() and application_name = 'posthorn listen'`);
      const [listener] = (await listeners()).rows;
      const cut = setInterval(
        () =>
          void database.pool.query(`select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and application_name = 'posthorn listen'`),
        50,
      );
      await waitsOf(gateway, ids('polled').slice(0, 3)).finally(() => clearInterval(cut));
      await waitFor('a new listener', async () => {
        const [again] = (await listeners()).rows;
        return again !== undefined && again.pid !== listener?.pid;
      });
    } finally {
      await installation.remove();
    }
  });
});

describe.runIf(hasPgbouncer)('behind pgbouncer in transaction mode', () => {
  it('[IN-15] with directUrl everything works, and workers are woken', async () => {
    const bouncer = await startPgbouncer(database);
    const installation = new Installation(config(`{ pooler: true, directUrl: "${database.url}" }`), {
      'handlers.js': handlers,
    });
    try {
      const { gateway, worker } = await startBoth(installation, bouncer.url);
      const waits = await waitsOf(gateway, ids('pooled'));
      expect(waits[Math.floor(waits.length / 2)]).toBeLessThan(300);
      const sender = new Sender(gateway.port);
      const many = Array.from({ length: 500 }, (_, at) => `many-${at}`);
      await sender.sendMany(many);
      sender.close();
      expect(sender.acknowledged()).toHaveLength(500);
      await waitFor(
        'all to be handled',
        async () => (await effects()).filter(({ id }) => id.startsWith('many')).length === 500,
      );
      for (const server of [gateway, worker])
        expect(server.out.split('\n').filter((line) => /"level":"(error|warn)"/.test(line))).toEqual([]);
    } finally {
      await installation.remove();
      await bouncer.stop();
    }
  });

  it('[IN-15] without directUrl the worker says that it polls, and works', async () => {
    const bouncer = await startPgbouncer(database);
    const installation = new Installation(config('{ pooler: true }'), { 'handlers.js': handlers });
    try {
      const { gateway, worker } = await startBoth(installation, bouncer.url);
      expect(worker.logged('worker.polls')).toHaveLength(1);
      await waitsOf(gateway, ids('unlistened').slice(0, 3));
    } finally {
      await installation.remove();
      await bouncer.stop();
    }
  });
});
