import { createHmac } from 'node:crypto';
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startGateway, type TestGateway, testSecret } from '../support/gateway.ts';
import { sendRaw, statusesOf } from '../support/raw-http.ts';
import { waitFor } from '../support/wait-for.ts';

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

beforeEach(async () => {
  await database.pool.query('truncate posthorn.events, posthorn.event_bodies');
});

const body = '{"a":1}';
const signature = createHmac('sha256', testSecret).update(body).digest('hex');

/** A signed request as text; `headers` are lines added to it. */
function requestText(
  id: string,
  headers: string[] = [],
  line = 'POST /api/v1/webhooks/github HTTP/1.1',
): string {
  return [
    line,
    'Host: x',
    `X-Hub-Signature-256: sha256=${signature}`,
    `X-GitHub-Delivery: ${id}`,
    'X-GitHub-Event: push',
    ...headers,
  ].join('\r\n');
}

const withLength = [`Content-Length: ${body.length}`, '', body];

async function rows(): Promise<number> {
  const { rows: counted } = await database.pool.query('select count(*)::int as n from posthorn.events');
  return counted[0].n;
}

it('[EDGE-1] a Transfer-Encoding other than chunked is 400 and leaves no row', async () => {
  const chunk = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  for (const coding of ['gzip, chunked', 'identity', 'chunked, chunked', 'x']) {
    const answer = await sendRaw(
      gateway.port,
      requestText('te', [`Transfer-Encoding: ${coding}`, '', chunk]),
    );
    expect(statusesOf(answer)[0], coding).toBe(400);
    expect(answer.endsWith('\r\n\r\n'), 'the answer is empty').toBe(true);
  }
  expect(await rows()).toBe(0);
  expect(
    statusesOf(await sendRaw(gateway.port, requestText('te', ['Transfer-Encoding: chunked', '', chunk]))),
  ).toEqual([200]);
});

it('[EDGE-1] a request with both lengths, or two lengths, is refused', async () => {
  const both = requestText('smuggle', [
    'Transfer-Encoding: chunked',
    `Content-Length: ${body.length}`,
    '',
    body,
  ]);
  const two = requestText('smuggle', ['Content-Length: 3', ...withLength]);
  for (const text of [both, two]) expect(statusesOf(await sendRaw(gateway.port, text))).toEqual([400]);
  expect(await rows()).toBe(0);
});

it('[EDGE-2] 128 headers pass, 129 are 431; nothing is dropped in silence', async () => {
  const filler = (count: number) => Array.from({ length: count - 5 }, (_, at) => `X-Filler-${at}: 1`);
  expect(
    statusesOf(await sendRaw(gateway.port, requestText('h128', [...filler(128), ...withLength]))),
  ).toEqual([200]);
  expect(
    statusesOf(await sendRaw(gateway.port, requestText('h129', [...filler(129), ...withLength]))),
  ).toEqual([431]);
  expect(await rows()).toBe(1);
});

it('[EDGE-2] more than 16 KiB of headers are 431, empty', async () => {
  const answer = await sendRaw(
    gateway.port,
    requestText('big', [`X-Big: ${'x'.repeat(17_000)}`, ...withLength]),
  );
  expect(statusesOf(answer)).toEqual([431]);
  expect(answer.split('\r\n\r\n')[1]).toBe('');
});

it('[EDGE-2] the framework never answers first: odd types, escapes, codes and methods get our empty answers', async () => {
  const cases: [string, string, number][] = [
    ['POST /api/v1/webhooks/github HTTP/1.1', 'Content-Type: ', 200],
    ['POST /api/v1/webhooks/github HTTP/1.1', 'Content-Type: no/such;;;=', 200],
    ['POST /api/v1/webhooks/%zz HTTP/1.1', 'X-A: 1', 404],
    ['POST /%zz HTTP/1.1', 'X-A: 1', 404],
    [`POST /api/v1/webhooks/${'y'.repeat(5_000)} HTTP/1.1`, 'X-A: 1', 404],
    [`POST /${'y'.repeat(5_000)} HTTP/1.1`, 'X-A: 1', 404],
    ['PROPFIND /api/v1/webhooks/github HTTP/1.1', 'X-A: 1', 405],
    ['QUERY /api/v1/webhooks/github HTTP/1.1', 'X-A: 1', 405],
    ['PROPFIND /elsewhere HTTP/1.1', 'X-A: 1', 404],
    ['QUERY /elsewhere HTTP/1.1', 'X-A: 1', 404],
    ['POST /elsewhere HTTP/1.1', 'Content-Type: application/json', 404],
    ['GET / HTTP/1.1', 'X-A: 1', 404],
  ];
  for (const [index, [line, header, status]] of cases.entries()) {
    const answer = await sendRaw(gateway.port, requestText(`odd-${index}`, [header, ...withLength], line), {
      quietMs: 60,
    });
    const head = answer.split('\r\n\r\n')[0] ?? '';
    // Node 20's parser does not know QUERY: then it is a broken request.
    const expected = line.startsWith('QUERY') && statusesOf(answer)[0] === 400 ? 400 : status;
    expect(statusesOf(answer)[0], line).toBe(expected);
    expect(head.toLowerCase(), line).toContain('content-length: 0');
    expect(answer, line).not.toMatch(/elsewhere|yyyy|zz/);
  }
});

it('[EDGE-2] bytes that are no HTTP are 400, empty', async () => {
  for (const bytes of [
    '\0\0\0\0',
    'GET\r\n\r\n',
    'POST /api/v1/webhooks/github HTTP/9.9\r\n\r\n',
    '\x16\x03\x01\x02\x00',
  ]) {
    const answer = await sendRaw(gateway.port, bytes);
    expect(statusesOf(answer)).toEqual([400]);
  }
});

it('[EDGE-5] a body that is cut off leaves no row and no acknowledgement', async () => {
  const socket = connect(gateway.port, '127.0.0.1');
  let answer = '';
  socket.on('data', (chunk) => {
    answer += chunk;
  });
  socket.write(requestText('cut', ['Content-Length: 100', '', '{"half":']));
  await waitFor('the gateway to wait for the rest', () => socket.bytesWritten > 100);
  socket.destroy();
  expect((await gateway.send()).status).toBe(200);
  expect(answer).toBe('');
  expect(await rows()).toBe(1);
});

it('[EDGE-5] a body over the limit is 413 without being read when its length tells', async () => {
  const head = requestText('long', ['Content-Length: 999999999', '', '']);
  const answer = await sendRaw(gateway.port, head);
  expect(statusesOf(answer)).toEqual([413]);
  expect(answer.toLowerCase()).toContain('connection: close');
});

it('[EDGE-1] pipelined requests are each answered, in order', async () => {
  const text = ['p1', 'p2', 'p3'].map((id) => requestText(id, withLength)).join('');
  expect(statusesOf(await sendRaw(gateway.port, text))).toEqual([200, 200, 200]);
  expect(await rows()).toBe(3);
});

it('[EDGE-1] headers that do not come within 10 s are answered 408 and the connection is closed', async () => {
  const started = performance.now();
  const answer = await sendRaw(gateway.port, 'POST /api/v1/webhooks/github HTTP/1.1\r\nHost: x\r\n');
  expect(statusesOf(answer)).toEqual([408]);
  expect(performance.now() - started).toBeGreaterThan(9_000);
  expect(performance.now() - started).toBeLessThan(13_000);
}, 20_000);

it('[EDGE-1] connections beyond the cap are closed, and room is used again', async () => {
  const capped = await startGateway(database, { config: { http: { maxConnections: 2 } } });
  const open = [connect(capped.port, '127.0.0.1'), connect(capped.port, '127.0.0.1')];
  await Promise.all(open.map((socket) => new Promise((resolve) => socket.once('connect', resolve))));
  expect(statusesOf(await sendRaw(capped.port, requestText('over', withLength)))).toEqual([]);
  for (const socket of open) socket.destroy();
  await waitFor(
    'room',
    async () => statusesOf(await sendRaw(capped.port, requestText('room', withLength)))[0] === 200,
  );
  await capped.close();
});

it('[IN-9] senders that announce long bodies and stay silent take no room from others', async () => {
  const head = requestText('silent', ['Content-Length: 1048576', '', '']);
  const silent = Array.from({ length: 80 }, () => connect(gateway.port, '127.0.0.1'));
  await Promise.all(
    silent.map(
      (socket) =>
        new Promise<void>((resolve) => socket.once('connect', () => socket.write(head, () => resolve()))),
    ),
  );
  const answers = await Promise.all(Array.from({ length: 20 }, () => gateway.send()));
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
  for (const socket of silent) socket.destroy();
});

it('[IN-1] a request that names the whole URL is the same request', async () => {
  const line = 'POST http://example.test/api/v1/webhooks/github?a=1 HTTP/1.1';
  expect(statusesOf(await sendRaw(gateway.port, requestText('absolute', withLength, line)))).toEqual([200]);
  const elsewhere = 'POST http://example.test HTTP/1.1';
  expect(statusesOf(await sendRaw(gateway.port, requestText('absolute', withLength, elsewhere)))[0]).toBe(
    404,
  );
});
