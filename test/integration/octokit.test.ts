import { createRequire } from 'node:module';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';

/** Payloads that GitHub really sent, as a package publishes them. */
const examples = createRequire(import.meta.url)('@octokit/webhooks-examples') as {
  name: string;
  examples: object[];
}[];
const payloads = examples.flatMap(({ name, examples: bodies }) =>
  bodies.map((body, index) => ({
    id: `${name}-${index}`,
    name,
    body: JSON.stringify(body),
    action: (body as { action?: string }).action,
  })),
);

let database: TestDatabase;
let gateway: TestGateway;

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await startGateway(database);
});

afterAll(async () => {
  await gateway.close();
  await database.drop();
});

it('[IN-13][SIG-3] every published GitHub payload is journaled byte for byte under its type', async () => {
  expect(payloads.length).toBeGreaterThan(250);
  const waiting = [...payloads];
  const one = async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const answer = await gateway.send({
        id: next.id,
        body: next.body,
        headers: { 'X-GitHub-Event': next.name },
      });
      expect(answer.status, next.id).toBe(200);
    }
  };
  await Promise.all(Array.from({ length: 16 }, one));
  const { rows } = await database.pool.query(
    'select event_id, event_type, status, body from posthorn.events join posthorn.event_bodies on event = id',
  );
  expect(rows).toHaveLength(payloads.length);
  const stored = new Map(rows.map((row) => [row.event_id, row]));
  for (const { id, name, body, action } of payloads) {
    const row = stored.get(id);
    expect(Buffer.compare(row.body, Buffer.from(body)), id).toBe(0);
    expect(row.event_type, id).toBe(action === undefined ? name : `${name}.${action}`);
    expect(row.status, id).toBe(name === 'ping' ? 'skipped' : 'accepted');
  }
});
