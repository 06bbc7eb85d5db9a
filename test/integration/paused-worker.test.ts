import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { childrenOf } from '../support/processes.ts';
import { Installation } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';
import { journalEvents } from '../support/worker.ts';

/** The first try stands long enough for the test to stop its worker in the middle of it. */
const handlers = `import { setTimeout as wait } from 'node:timers/promises';
export default (on) => {
  on('github', '*', async (event, { tx }) => {
    await tx.query('insert into public.effects (event, attempt) values ($1, $2)', [event.id, event.attempt]);
    if (event.attempt === 1) await wait(1_500);
  });
};`;
const config = `
sources: { github: { scheme: github, secretFile: secret } }
handlers: [{ name: app, module: ./handlers.js }]
`;

let database: TestDatabase;
let installation: Installation;
beforeAll(async () => {
  database = await createTestDatabase();
  await database.pool.query('create table public.effects (event bigint, attempt integer)');
  installation = new Installation(config, { 'handlers.js': handlers });
});
afterAll(async () => {
  await installation.remove();
  await database.drop();
});

const startWorker = () =>
  installation.serve({ args: ['--roles', 'worker,admin'], env: { DATABASE_URL: database.url } });
const rows = async (sql: string) => (await database.pool.query(sql)).rows;

it('[IN-16] a worker stopped beyond its lease, its successor finishes, it goes on: one effect, its late mark is refused', async () => {
  const first = await startWorker();
  await journalEvents(database, [{ eventId: 'e-1' }]);
  await waitFor(
    'the first try',
    async () => (await rows('select from posthorn.runs where attempts = 1')).length === 1,
  );
  const stoppedAt = performance.now();
  const stopped = [first.process.pid as number, ...childrenOf(first.process.pid as number)];
  expect(stopped).toHaveLength(2);
  for (const pid of stopped) process.kill(pid, 'SIGSTOP');
  await database.pool.query('update posthorn.runs set lease_until = clock_timestamp()');
  const second = await startWorker();
  await waitFor(
    'the successor',
    async () => (await rows(`select from posthorn.events where status = 'success'`)).length === 1,
  );
  expect(second.logged('run.taken_over')).toHaveLength(1);
  // So long that a parent which counts the time would take its child for one that stands still.
  await waitFor('21 s', () => performance.now() - stoppedAt > 21_000, { withinMs: 22_000, everyMs: 500 });
  for (const pid of stopped) process.kill(pid, 'SIGCONT');
  await waitFor('the late mark', () => first.logged('run.ended').length === 1);
  expect(first.logged('run.ended')).toMatchObject([{ outcome: 'lost', attempt: 1 }]);
  expect(await rows('select event, attempt from public.effects')).toMatchObject([{ attempt: 2 }]);
  expect(await rows('select status, attempts, deaths from posthorn.runs')).toEqual([
    { status: 'done', attempts: 2, deaths: 1 },
  ]);
  expect(await rows('select outcome from posthorn.run_attempts order by n')).toEqual([
    { outcome: 'crashed' },
    { outcome: 'done' },
  ]);
  expect(first.logged('worker.stood_still')).toEqual([]);
}, 60_000);
