import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startGateway, type TestGateway, testSecret } from '../support/gateway.ts';

let database: TestDatabase;
let gateway: TestGateway;

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await startGateway(database, {
    config: {
      sources: {
        github: { scheme: 'github', secretFile: 'secret', site: 'shop-1' },
        small: { scheme: 'github', secretFile: 'secret', maxPayloadKb: 1 },
        bare: { scheme: 'github' },
        timed: {
          scheme: {
            hmac: 'sha256',
            header: 'X-Sign',
            encoding: 'hex',
            signed: '{timestamp}.{body}',
            timestamp: { header: 'X-Time', unit: 's' },
            eventId: { json: 'id' },
            eventType: { json: 'type' },
          },
          secretFile: 'secret',
        },
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

async function journal() {
  const { rows } = await database.pool.query(
    `select events.*, sources.code, bodies.method, bodies.query, bodies.headers, bodies.content_type, bodies.body
     from posthorn.events join posthorn.sources on sources.id = events.source
     left join posthorn.event_bodies bodies on bodies.event = events.id order by events.id`,
  );
  return rows;
}

describe('the ladder', () => {
  it('[IN-1][IN-2] a verified webhook is answered 200, empty, and stands in the journal as it arrived', async () => {
    const body = '{"ref":"refs/heads/mäin" ,"b":1}\n';
    const answer = await gateway.send({ body, id: 'delivery-1', query: '?a=1&token=abc' });
    expect(answer).toMatchObject({ status: 200, body: '' });
    const [row] = await journal();
    expect(row).toMatchObject({
      code: 'github',
      event_id: 'delivery-1',
      sender_event_id: 'delivery-1',
      event_type: 'push',
      site: 'shop-1',
      status: 'accepted',
      reason: null,
      open_runs: 0,
      size: Buffer.byteLength(body),
      via: 'direct',
      client_ip: '127.0.0.1',
      method: 'POST',
      query: 'a=1&token=[redacted]',
      content_type: 'application/json',
    });
    expect(row.body).toEqual(Buffer.from(body));
    expect(row.headers).toContainEqual(['X-Hub-Signature-256', '[redacted]']);
    expect(row.headers).toContainEqual(['X-GitHub-Event', 'push']);
    expect(JSON.stringify(row)).not.toContain('sha256=');
  });

  it('[IN-1] gate 2: an unknown source is 404 without a row, for every method and before the body', async () => {
    for (const method of ['POST', 'GET', 'PROPFIND']) {
      expect(await gateway.send({ source: 'nobody', method })).toMatchObject({ status: 404, body: '' });
    }
    for (const source of ['', 'github/', 'GITHUB', '%', '%67ithub', 'x'.repeat(300), '__proto__']) {
      expect((await gateway.send({ source })).status, source).toBe(404);
    }
    expect(await journal()).toEqual([]);
  });

  it('[IN-8] a known source answers 405 with Allow to other methods', async () => {
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'PROPFIND']) {
      const answer = await gateway.send({ method });
      expect(answer, method).toMatchObject({ status: 405, body: '', headers: { allow: 'POST' } });
    }
    expect(await journal()).toEqual([]);
  });

  it('[IN-1] a Content-Encoding that the sender is not known to use is 415 and leaves no row', async () => {
    for (const encoding of ['gzip', 'br', 'deflate', 'x-gzip', 'gzip, gzip', '']) {
      const answer = await gateway.send({ headers: { 'Content-Encoding': encoding } });
      expect(answer, encoding).toMatchObject({ status: 415, body: '' });
    }
    expect(await journal()).toEqual([]);
  });

  it('[IN-1][EDGE-5] gate 4: a body at the limit passes, one byte more is 413 with a row but no body', async () => {
    const atLimit = `"${'x'.repeat(1022)}"`;
    expect((await gateway.send({ source: 'small', body: atLimit })).status).toBe(200);
    expect(await gateway.send({ source: 'small', body: `${atLimit} `, id: 'big' })).toMatchObject({
      status: 413,
      body: '',
    });
    const chunked = { 'Content-Length': null, 'Transfer-Encoding': 'chunked' };
    expect((await gateway.send({ source: 'small', body: `${atLimit} `, headers: chunked })).status).toBe(413);
    const rows = await journal();
    expect(rows.map(({ status, reason }) => [status, reason])).toEqual([
      ['accepted', null],
      ['rejected', 'too_large'],
      ['rejected', 'too_large'],
    ]);
    expect(rows[1]).toMatchObject({ event_id: null, claimed_event_id: 'big', body: Buffer.alloc(0) });
  });

  it('[IN-1] gate 5: a source without a secret refuses everything', async () => {
    expect(await gateway.send({ source: 'bare' })).toMatchObject({ status: 401, body: '' });
    expect(await journal()).toMatchObject([{ status: 'rejected', reason: 'no_secret', event_id: null }]);
  });

  it('[IN-1][SIG-12] gate 6: no signature and a wrong one are 401, empty, alike; the journal knows which', async () => {
    const absent = await gateway.send({ headers: { 'X-Hub-Signature-256': null } });
    const wrong = await gateway.send({ secret: `${testSecret}x` });
    const doubled = await gateway.send({ headers: { 'X-Hub-Signature-256': ['sha256=a', 'sha256=b'] } });
    for (const answer of [absent, wrong, doubled]) {
      const { date: _date, ...headers } = answer.headers;
      expect({ ...answer, headers }).toEqual({
        status: 401,
        body: '',
        headers: { connection: 'close', 'content-length': '0' },
      });
    }
    const rows = await journal();
    expect(rows.map(({ reason }) => reason)).toEqual(['missing_signature', 'bad_signature', 'bad_signature']);
    expect(JSON.stringify(rows)).not.toContain(testSecret);
  });

  it('[IN-4] a rejected request never takes the event id: the true event is accepted afterwards', async () => {
    expect((await gateway.send({ id: 'wanted', secret: 'somebody-elses-secret-123' })).status).toBe(401);
    expect((await gateway.send({ id: 'wanted' })).status).toBe(200);
    expect(await journal()).toMatchObject([
      { status: 'rejected', event_id: null, sender_event_id: null, claimed_event_id: 'wanted' },
      { status: 'accepted', event_id: 'wanted', claimed_event_id: null },
    ]);
  });

  it('[IN-1] gate 7: a signed timestamp outside the window is 401 and stale', async () => {
    const send = (offset: number) => {
      const time = String(Math.floor(performance.timeOrigin / 1000 + performance.now() / 1000) + offset);
      const body = `{"id":"t${offset}","type":"x"}`;
      return gateway.send({ source: 'timed', body, headers: signedAt(time, body) });
    };
    expect((await send(0)).status).toBe(200);
    expect((await send(-400)).status).toBe(401);
    expect((await send(400)).status).toBe(401);
    expect((await journal()).map(({ reason }) => reason)).toEqual([null, 'stale', 'stale']);
  });

  it('[IN-1] gate 8: a signed body that is no sound JSON is 400; the first 4 KiB are kept', async () => {
    const bad = [
      '',
      '{',
      'payload=%7B%7D',
      '[1,]',
      '['.repeat(65) + ']'.repeat(65),
      Buffer.from([0x22, 0xff, 0x22]),
    ];
    for (const body of bad)
      expect(await gateway.send({ body }), String(body)).toMatchObject({ status: 400, body: '' });
    expect((await gateway.send({ body: `{${'x'.repeat(10_000)}` })).status).toBe(400);
    const rows = await journal();
    expect(rows.map(({ reason }) => reason)).toEqual(Array(bad.length + 1).fill('bad_body'));
    expect(rows.at(-1)).toMatchObject({ size: 10_001 });
    expect(rows.at(-1).body).toHaveLength(4_096);
  });

  it('[IN-1] gate 10: no event id and a malformed one are 400', async () => {
    for (const id of [null, '', 'with space', 'x'.repeat(201), 'ümlaut']) {
      expect((await gateway.send({ id: id === 'ümlaut' ? '\u00fcml' : id })).status, String(id)).toBe(400);
    }
    expect((await gateway.send({ headers: { 'X-GitHub-Delivery': ['a', 'b'] } })).status).toBe(400);
    const reasons = (await journal()).map(({ reason }) => reason);
    expect(reasons).toEqual([
      'no_event_id',
      'bad_event_id',
      'bad_event_id',
      'bad_event_id',
      'bad_event_id',
      'bad_event_id',
    ]);
  });

  it('[IN-1][IN-3] gate 11: a copy is answered 200 and makes no second row', async () => {
    for (let copy = 0; copy < 3; copy++) expect((await gateway.send({ id: 'same' })).status).toBe(200);
    expect(await journal()).toHaveLength(1);
  });

  it('[IN-8] a GitHub ping is an ordinary signed event that is skipped', async () => {
    expect((await gateway.send({ headers: { 'X-GitHub-Event': 'ping' } })).status).toBe(200);
    expect(await journal()).toMatchObject([{ status: 'skipped', reason: 'ping', event_type: 'ping' }]);
  });

  it('[IN-9] odd texts are cleaned or left out, never an error', async () => {
    const answer = await gateway.send({
      query: `?x=${'%00'.repeat(20)}`,
      headers: {
        'X-GitHub-Event': `t${'\u00ff'.repeat(3)}`,
        'Content-Type': 'x'.repeat(1_000),
        'X-Odd': '\u0080\u00ff',
      },
    });
    expect(answer.status).toBe(200);
    const [row] = await journal();
    expect(row).toMatchObject({ event_type: null });
    expect(row.content_type).toHaveLength(200);
    expect(row.headers).toContainEqual(['X-Odd', '\u0080\u00ff']);
  });
});

it('[IN-1] gate 1: a disabled inbound is 503 with Retry-After for every source, without a row', async () => {
  const disabled = await startGateway(database, { config: { inbound: { enabled: false } } });
  try {
    for (const source of ['github', 'nobody']) {
      expect(await disabled.send({ source })).toMatchObject({
        status: 503,
        headers: { 'retry-after': '60' },
        body: '',
      });
    }
    expect(await journal()).toEqual([]);
  } finally {
    await disabled.close();
  }
});

it('[IN-1][IN-10] allowed_sources: an unlisted code and a refused network are 404 like an unknown one', async () => {
  const sources = {
    github: { scheme: 'github', secretFile: 'secret' },
    other: { scheme: 'github', secretFile: 'secret' },
  };
  const inbound = { allowed_sources: ['github', '127.0.0.0/8'] };
  const listed = await startGateway(database, { config: { sources, inbound } });
  const elsewhere = await startGateway(database, {
    config: { sources, inbound: { allowed_sources: ['10.0.0.0/8'] } },
  });
  try {
    expect((await listed.send()).status).toBe(200);
    expect((await listed.send({ source: 'other' })).status).toBe(404);
    expect((await elsewhere.send()).status).toBe(404);
  } finally {
    await listed.close();
    await elsewhere.close();
  }
});

function signedAt(time: string, body: string): Record<string, string> {
  const signature = createHmac('sha256', testSecret).update(`${time}.${body}`).digest('hex');
  return { 'X-Time': time, 'X-Sign': signature };
}
