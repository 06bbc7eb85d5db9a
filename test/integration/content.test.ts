import { createHmac } from 'node:crypto';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import {
  type Answer,
  startGateway,
  type TestGateway,
  testSecret,
  withoutGithub,
} from '../support/gateway.ts';

let database: TestDatabase;
let gateway: TestGateway;

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await startGateway(database, {
    config: {
      sources: {
        nylas: { scheme: 'nylas', secretFile: 'secret', maxPayloadKb: 64 },
      },
    },
  });
});

afterAll(async () => {
  await gateway.close();
  await database.drop();
});

beforeEach(async () => {
  await database.pool.query('truncate posthorn.events, posthorn.event_bodies');
});

/** Nylas packs its bodies and signs what it packed. */
function nylas(body: Buffer, { encoding = 'gzip', signed = body } = {}): Promise<Answer> {
  const signature = createHmac('sha256', testSecret).update(signed).digest('hex');
  const headers = { ...withoutGithub, 'X-Nylas-Signature': signature, 'Content-Encoding': encoding };
  return gateway.send({ source: 'nylas', body, headers });
}

async function journal() {
  const { rows } = await database.pool.query(
    `select status, reason, event_id, body from posthorn.events
     left join posthorn.event_bodies on event = id order by id`,
  );
  return rows;
}

const event = Buffer.from('{"id":"evt_1","type":"message.created","specversion":"1.0"}');

it('[EDGE-3] a packed body of a sender that packs verifies by the packed bytes and is kept as it reads', async () => {
  expect(await nylas(gzipSync(event))).toMatchObject({ status: 200, body: '' });
  expect(await journal()).toMatchObject([{ status: 'accepted', event_id: 'evt_1', body: event }]);
});

it('[EDGE-3] one whose unpacked bytes were signed, or another packing, is refused', async () => {
  expect((await nylas(gzipSync(event), { signed: event })).status).toBe(401);
  expect((await nylas(brotliCompressSync(event), { encoding: 'br' })).status).toBe(415);
  expect((await nylas(deflateSync(event), { encoding: 'deflate' })).status).toBe(415);
  expect((await nylas(gzipSync(gzipSync(event)), { encoding: 'gzip, gzip' })).status).toBe(415);
});

it('[EDGE-3] a bomb is 413, cut off at the bound of the source, and what only claims to be packed is refused', async () => {
  const bomb = gzipSync(Buffer.alloc(40 * 1024 * 1024));
  expect(bomb.length).toBeLessThan(64 * 1024);
  expect((await nylas(bomb)).status).toBe(413);
  for (const body of [gzipSync(event).subarray(0, 20), Buffer.alloc(0)])
    expect((await nylas(body)).status, body.toString('hex').slice(0, 20)).toBe(400);
  expect((await journal()).map(({ status }) => status)).not.toContain('accepted');
});

it('[EDGE-3] a body that is not packed, whatever its header claims, is judged as it came', async () => {
  expect((await nylas(event)).status).toBe(200);
  expect((await nylas(event, { signed: gzipSync(event) })).status).toBe(401);
});
