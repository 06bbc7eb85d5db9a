import { createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type Answering,
  publicAddress,
  standInFetch,
  startTarget,
} from '../../test/support/stand-in-target.ts';
import { createAddressPolicy } from './address-policy.ts';

/** Everything ends within the deadline; the allowance is for a busy machine, not for the code. */
const deadlineMs = 200;
const allowanceMs = 800;
const timedOut = { ok: false, reason: 'timeout' };
const head = 'HTTP/1.1 200 OK\r\n';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

describe('[EGR-9] one deadline holds against', () => {
  it.each<[string, Answering]>([
    ['a server that says nothing', () => undefined],
    ['late headers', (socket) => void wait(600).then(() => socket.destroyed || socket.end(`${head}\r\n`))],
    ['headers that drip', dripping(head, (i) => `X-${i}: 1\r\n`)],
    ['a status line that drips', dripping('HTTP/1.1 2', () => '')],
    ['a flood of 1xx', dripping('', () => 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(20))],
  ])('%s: timeout', async (_, answering) => {
    const { send } = await plainTarget(answering);
    expect(await timed(send())).toEqual(timedOut);
  });

  it.each<[string, Answering]>([
    ['a body that drips', dripping(`${head}Transfer-Encoding: chunked\r\n\r\n`, () => '1\r\nx\r\n')],
    ['a body that stops', (socket) => socket.write(`${head}Content-Length: 10\r\n\r\nabc`)],
    ['a body without an end', dripping(`${head}\r\n`, () => 'x')],
  ])('%s: the status is an answer, its body is cut', async (_, answering) => {
    const { send } = await plainTarget(answering);
    expect(await timed(send())).toMatchObject({ ok: true, status: 200, isCut: true });
  });

  it('an endless fast body: it is read up to the bound', async () => {
    const { send } = await plainTarget((socket) => {
      socket.write(`${head}\r\n`);
      const pour = () => {
        while (!socket.destroyed && socket.write('x'.repeat(65_536)));
      };
      socket.on('drain', pour);
      pour();
    });
    const result = await timed(send({ deadlineMs: 5_000 }));
    expect(result).toMatchObject({ ok: true, isCut: true, body: { length: 4_096 } });
  });

  it('a TLS handshake that hangs', async () => {
    const silent = createServer((socket) => socket.on('error', () => undefined).resume());
    await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done));
    const fetch = standInFetch({ 'hook.example.test': [publicAddress] });
    open.push(fetch, silent);
    const { port } = silent.address() as { port: number };
    expect(await timed(fetch.send(`https://hook.example.test:${port}/`, { deadlineMs }))).toEqual(timedOut);
  });
});

describe('[EGR-9] look-ups count in the budget', () => {
  it('three names hang and a fourth delivers', async () => {
    const target = await startTarget('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', {
      certificate: 'server',
    });
    const fetch = standInFetch((name) =>
      name.startsWith('hang') ? new Promise(() => {}) : Promise.resolve([publicAddress]),
    );
    open.push(target, fetch);
    const hanging = [1, 2, 3].map((i) => fetch.send(`https://hang${i}.example.test/`, { deadlineMs: 500 }));
    const delivered = await timed(fetch.send(`https://hook.example.test:${target.port}/`));
    expect(delivered).toMatchObject({ ok: true, status: 200 });
    expect(await Promise.all(hanging)).toEqual([timedOut, timedOut, timedOut]);
  });

  it('a name that hangs is asked for once, whoever sends', async () => {
    const fetch = standInFetch(() => new Promise(() => {}));
    open.push(fetch);
    const sent = [50, 100, 150].map((deadlineMs) => fetch.send('https://hang.example.test/', { deadlineMs }));
    expect(await Promise.all(sent)).toEqual([timedOut, timedOut, timedOut]);
    expect(await fetch.send('https://hang.example.test/', { deadlineMs: 20 })).toEqual(timedOut);
    expect(fetch.lookups).toEqual(['hang.example.test']);
  });

  it('a request gets only what the look-up left', async () => {
    const target = await startTarget(() => undefined, { certificate: 'server' });
    const fetch = standInFetch(() => wait(400, [publicAddress]));
    open.push(target, fetch);
    const url = `https://hook.example.test:${target.port}/`;
    const began = performance.now();
    expect(await fetch.send(url, { deadlineMs: 500 })).toEqual(timedOut);
    const tookMs = performance.now() - began;
    expect([tookMs > 450, tookMs < 400 + 500 - 50]).toEqual([true, true]);
  });
});

it('[EGR-9] the caller’s signal ends a request at once, before and while it is sent', async () => {
  const { send } = await plainTarget(() => undefined);
  const aborted = { ok: false, reason: 'aborted' };
  expect(await send({ deadlineMs: 5_000, signal: AbortSignal.abort() })).toEqual(aborted);
  expect(await timed(send({ deadlineMs: 5_000, signal: AbortSignal.timeout(50) }))).toEqual(aborted);
});

it('[EGR-3][EGR-9] an address that swallows packets leaves time for the next one', async () => {
  const target = await startTarget('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', { certificate: 'server' });
  const silent = createServer((socket) => socket.on('error', () => undefined).resume());
  await new Promise<void>((done) => silent.listen(target.port, '127.0.0.2', done));
  const asIf = new Map([
    ['9.9.9.9', '127.0.0.2'],
    [publicAddress, '127.0.0.1'],
  ]);
  const fetch = standInFetch({ 'hook.example.test': ['9.9.9.9', publicAddress] }, { asIf });
  open.push(target, silent, fetch);
  const result = await fetch.send(`https://hook.example.test:${target.port}/`, { deadlineMs: 600 });
  expect(result).toMatchObject({ ok: true, status: 200 });
});

/** Writes the beginning, then a piece every 20 ms until the other side has had enough. */
function dripping(beginning: string, piece: (i: number) => string): Answering {
  return (socket) => {
    socket.write(beginning);
    let i = 0;
    const timer = setInterval(() => socket.write(piece(i++)), 20);
    socket.once('close', () => clearInterval(timer));
  };
}

async function plainTarget(answering: Answering) {
  const target = await startTarget(answering);
  const fetch = standInFetch({}, { policy: createAddressPolicy({ allowLoopback: true }) });
  open.push(target, fetch);
  const send = (request: Parameters<typeof fetch.send>[1] = {}) =>
    fetch.send(`http://127.0.0.1:${target.port}/`, { deadlineMs, ...request });
  return { target, send };
}

async function timed<T>(sending: Promise<T>): Promise<T> {
  const began = performance.now();
  const result = await sending;
  expect(performance.now() - began).toBeLessThan(deadlineMs + allowanceMs);
  return result;
}
