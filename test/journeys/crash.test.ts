import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Pool } from '../../src/platform/db.ts';
import { Sender } from '../support/sender.ts';
import { Installation } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';

const config = `
sources:
  github: { scheme: github, secretFile: secret }
handlers:
  - { name: app, module: ./handlers.mjs }
`;

/** Each event leaves one row; a second run of an event would leave a second. */
const handlers = `
export default (on) => {
  on('github', '*', { maxDeaths: 100 }, async (event, { tx }) => {
    await tx.query('insert into public.effects values ($1)', [event.eventId]);
  });
};
`;

let installation: Installation;
let pool: Pool | undefined;

beforeAll(() => {
  installation = new Installation(config, { 'handlers.mjs': handlers });
});

afterAll(async () => {
  await pool?.end();
  await installation.remove();
});

it('[IN-2][IN-16] SIGKILL of the whole server amid 5,000 sends: every 2xx has its row, every effect exists once', async () => {
  let server = await installation.serve();
  const { port, adminPort } = server;
  pool = installation.pool();
  await pool.query('create table public.effects (event_id text not null)');
  const ids = Array.from({ length: 5_000 }, (_, n) => `event-${n}`);
  const sender = new Sender(port);

  const killAt = [900, 2_300, 3_700];
  for (const at of killAt) {
    const from = sender.ledger.length;
    const sending = sender.sendMany(ids.slice(from), { until: () => sender.ledger.length >= at });
    await waitFor('the moment of the kill', () => sender.ledger.length >= at - 100);
    await server.kill('SIGKILL');
    await sending;
    server = await installation.serve({ port, adminPort });
  }
  await sender.sendMany(ids.slice(sender.ledger.length));
  const unanswered = sender.ledger.filter(({ status }) => status !== 200).map(({ id }) => id);
  expect(unanswered.length).toBeGreaterThan(0);
  await sender.sendMany(unanswered);
  sender.close();

  const db = pool;
  const { rows } = await db.query<{ event_id: string }>('select event_id from posthorn.events');
  const stored = new Set(rows.map(({ event_id }) => event_id));
  expect(rows).toHaveLength(stored.size);
  expect(sender.acknowledged().filter((id) => !stored.has(id))).toEqual([]);
  await waitFor(
    'every event to be processed',
    async () => {
      const { rows: open } = await db.query(
        `select count(*)::int as n from posthorn.events where status <> 'success'`,
      );
      return open[0].n === 0;
    },
    { withinMs: 60_000, everyMs: 200 },
  );
  const { rows: effects } = await db.query(
    'select event_id, count(*)::int as n from public.effects group by event_id',
  );
  expect(effects.filter(({ n }) => n !== 1)).toEqual([]);
  expect(effects).toHaveLength(5_000);
}, 150_000);
