import { afterAll, beforeAll, expect, it } from 'vitest';
import { Sender } from '../support/sender.ts';
import { Installation } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';

let installation: Installation;

beforeAll(() => {
  installation = new Installation('sources:\n  github: { scheme: github, secretFile: secret }\n');
});

afterAll(() => installation.remove());

it('[IN-9][EPG-15] PostgreSQL killed under load: only 503s within 2.5 s, no 2xx without a row, back by itself', async () => {
  const server = await installation.serve();
  const sender = new Sender(server.port, 16);
  let isOver = false;
  let sent = 0;
  const load = Promise.all(
    Array.from({ length: 16 }, async () => {
      while (!isOver && sent < 60_000) {
        const { status } = await sender.send(`event-${sent++}`);
        // A sender backs off when it is told to come back; it does not have to be slow in this test.
        if (status !== 200) await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }),
  );
  for (let round = 0; round < 2; round++) {
    const before = sender.acknowledged().length;
    await waitFor('webhooks to be accepted', () => sender.acknowledged().length > before + 200);
    process.kill(installation.postmasterPid(), 'SIGKILL');
    const refused = sender.ledger.length;
    await waitFor('a refusal', () => sender.ledger.slice(refused).some(({ status }) => status === 503));
    const accepted = sender.acknowledged().length;
    await waitFor('webhooks to be accepted again', () => sender.acknowledged().length > accepted + 200, {
      withinMs: 30_000,
    });
  }
  isOver = true;
  await load;
  sender.close();

  expect(new Set(sender.ledger.map(({ status }) => status))).toEqual(new Set([200, 503]));
  const slowest = Math.max(
    ...sender.ledger.filter(({ status }) => status === 503).map(({ tookMs }) => tookMs),
  );
  expect(slowest).toBeLessThan(2_500);
  const pool = installation.pool();
  const { rows } = await pool.query<{ event_id: string }>('select event_id from posthorn.events');
  await pool.end();
  const stored = new Set(rows.map(({ event_id }) => event_id));
  expect(sender.acknowledged().filter((id) => !stored.has(id))).toEqual([]);
  expect(server.process.exitCode).toBeNull();
}, 120_000);
