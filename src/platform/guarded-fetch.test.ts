import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  type Answering,
  okAnswer,
  publicAddress,
  type StandInTarget,
  standInFetch,
  startTarget,
} from '../../test/support/stand-in-target.ts';
import { createAddressPolicy } from './address-policy.ts';
import { headerProblem } from './outgoing-headers.ts';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const each of open.splice(0)) await each.close();
});

const blocked = { ok: false, reason: 'blocked' };
const network = { ok: false, reason: 'network' };
const loopback = createAddressPolicy({ allowLoopback: true });
const name = 'hook.example.test';

describe('where a request goes', () => {
  it('[EGR-2] a name is resolved, judged and connected to at the address that was found', async () => {
    const { target, fetch, url } = await secureTarget({ [name]: [publicAddress] });
    expect(await fetch.send(url)).toMatchObject({ ok: true, status: 200, body: Buffer.from('ok') });
    expect(target.requests).toHaveLength(1);
  });

  it.each([
    [[publicAddress, '10.0.0.1']],
    [[publicAddress, '::1']],
    [['127.0.0.1']],
    [[publicAddress, 'fe80::1%lo']],
  ])('[EGR-2] one forbidden record refuses all: %j', async (addresses) => {
    const { target, fetch, url } = await secureTarget({ [name]: addresses });
    expect(await fetch.send(url)).toEqual(blocked);
    expect(target.connections).toEqual([]);
  });

  it('[EGR-2] a name without records, and a look-up that fails, are the network’s', async () => {
    const { fetch, url } = await secureTarget({});
    expect(await fetch.send(url)).toEqual(network);
    const failing = keep(standInFetch(() => Promise.reject(new Error('refused'))));
    expect(await failing.send(url)).toEqual(network);
  });

  it('[EGR-3] nothing is resolved a second time: a name that flips cannot lead elsewhere', async () => {
    const answers = [[publicAddress], ['127.0.0.1']];
    const { target, fetch, url } = await secureTarget(async () => answers.shift() ?? []);
    expect(await fetch.send(url)).toMatchObject({ ok: true });
    expect(fetch.lookups).toEqual([name]);
    expect(target.connections).toEqual([name]);
    expect(await fetch.send(url)).toEqual(blocked);
    expect(target.requests).toHaveLength(1);
  });

  it('[EGR-3] the next address is tried where one refuses, within the budget', async () => {
    const { target, fetch, url } = await secureTarget({ [name]: ['9.9.9.9', publicAddress] }, [
      ['9.9.9.9', '127.0.0.9'],
    ]);
    expect(await fetch.send(url)).toMatchObject({ ok: true });
    expect(target.connections).toHaveLength(1);
  });

  it('[EGR-3] addresses in the URL are judged too', async () => {
    const { target, fetch } = await secureTarget({});
    for (const host of ['127.0.0.1', '2130706433', '[::1]', '[::ffff:127.0.0.1]', '0x7f.1', 'localhost'])
      expect(await fetch.send(`https://${host}:${target.port}/`)).toEqual(blocked);
    expect(await fetch.send(`https://${publicAddress}:${target.port}/`)).toMatchObject({ ok: true });
    expect(target.connections).toEqual(['']);
    expect(fetch.lookups).toEqual([]);
  });

  it('[EGR-1] http and odd URLs are blocked', async () => {
    const { fetch } = await secureTarget({ [name]: [publicAddress] });
    for (const url of [`http://${name}/`, `https://u:p@${name}/`, `https://${name}:22/`, 'ftp://x/', ''])
      expect(await fetch.send(url)).toEqual(blocked);
  });

  it('[EGR-6][IN-17] loopback by http is for a policy that allows it, on either family, without a look-up', async () => {
    const { target, fetch } = await plainTarget();
    expect(await fetch.send(`http://localhost:${target.port}/a?b=c`)).toMatchObject({ ok: true });
    expect(await fetch.send(`http://app.localhost:${target.port}/`)).toMatchObject({ ok: true });
    expect(await fetch.send(`http://127.0.0.1:${target.port}/`)).toMatchObject({ ok: true });
    expect(fetch.lookups).toEqual([]);
    expect(target.requests[0]).toMatch(/^POST \/a\?b=c HTTP\/1\.1\r\nhost: localhost:\d+\r\n/i);
  });

  it('[EGR-11] the same words for every blocked target, and none of the address', async () => {
    const { fetch } = await secureTarget({ [name]: ['10.0.0.1'], 'b.example.test': ['169.254.169.254'] });
    const results = await Promise.all([
      fetch.send(`https://${name}/`),
      fetch.send('https://b.example.test/'),
      fetch.send('https://10.0.0.1/'),
    ]);
    expect(results).toEqual([blocked, blocked, blocked]);
  });

  it('[EGR-8] redirects are answers and never followed', async () => {
    const statuses = [301, 302, 303, 307, 308];
    for (const status of statuses) {
      const { target, fetch, url } = await plainTarget(
        `HTTP/1.1 ${status} Elsewhere\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n`,
      );
      const result = await fetch.send(url);
      expect(result).toMatchObject({ ok: true, status, headers: { location: 'http://127.0.0.1:1/' } });
      expect(target.requests).toHaveLength(1);
    }
  });

  it('[EGR-8] proxy variables do not change where it connects', async () => {
    const proxy = keep(await startTarget());
    for (const variable of ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy', 'ALL_PROXY'])
      vi.stubEnv(variable, `http://127.0.0.1:${proxy.port}`);
    vi.stubEnv('NODE_USE_ENV_PROXY', '1');
    vi.stubEnv('NO_PROXY', '');
    const { target, fetch, url } = await plainTarget();
    expect(await fetch.send(url)).toMatchObject({ ok: true });
    expect([target.requests.length, proxy.connections.length]).toEqual([1, 0]);
  });
});

describe('what is sent and read', () => {
  it('sends the body’s bytes, with its length, and the headers as given and no others', async () => {
    const { target, fetch, url } = await plainTarget();
    const body = Buffer.from([0, 255, 13, 10, 0x7b]);
    await fetch.send(url, {
      body,
      headers: [
        ['Content-Type', 'x/y'],
        ['X-Twice', '1'],
        ['X-Twice', '2'],
      ],
    });
    const [head, sent] = (target.requests[0] as string).split('\r\n\r\n');
    expect(Buffer.from(sent as string, 'latin1')).toEqual(body);
    expect(head?.split('\r\n').slice(1)).toEqual([
      `host: 127.0.0.1:${target.port}`,
      'connection: keep-alive',
      'Content-Type: x/y',
      'X-Twice: 1',
      'X-Twice: 2',
      'content-length: 5',
    ]);
  });

  it('[EGR-10] refuses headers that belong to the connection, and values with line breaks', async () => {
    const { target, fetch, url } = await plainTarget();
    const forbidden = [
      ...['Host', 'connection', 'Content-Length', 'Transfer-Encoding', 'TE', 'Trailer', 'Upgrade', 'Expect'],
      ...['Keep-Alive', 'Proxy-Authorization', 'Proxy-Anything', 'Cookie', 'a b', ''],
    ];
    for (const header of forbidden)
      await expect(fetch.send(url, { headers: [[header, 'x']] })).rejects.toThrow(TypeError);
    for (const value of ['a\r\nb', 'a\nb', 'a\0b', 'ä\u0100'])
      await expect(fetch.send(url, { headers: [['X', value]] })).rejects.toThrow(/control character/);
    expect(headerProblem('Webhook-Id', 'x', ['webhook-id'])).toMatch(/the sender itself/);
    expect(headerProblem('Authorization', 'Bearer x')).toBeUndefined();
    expect(target.connections).toEqual([]);
  });

  it('reads an answer up to the bound and closes the connection behind it', async () => {
    const answer = (bytes: number) =>
      `HTTP/1.1 200 OK\r\nContent-Length: ${bytes}\r\n\r\n${'x'.repeat(bytes)}`;
    const whole = await plainTarget(answer(4_096));
    expect(await whole.fetch.send(whole.url)).toMatchObject({ isCut: false, body: { length: 4_096 } });
    const more = await plainTarget(answer(4_097));
    expect(await more.fetch.send(more.url)).toMatchObject({ isCut: true, body: { length: 4_096 } });
    expect(await more.fetch.send(more.url, { mostAnswerBytes: 10 })).toMatchObject({ body: { length: 10 } });
    expect(more.target.connections).toHaveLength(2);
  });

  it('does not unpack an answer', async () => {
    const bomb = gzipSync(Buffer.alloc(10 * 1024 * 1024));
    const { fetch, url } = await plainTarget(
      `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n${bomb.toString('latin1')}`,
    );
    const result = await fetch.send(url, { mostAnswerBytes: 100_000 });
    expect(result).toMatchObject({ ok: true, isCut: false, body: bomb });
  });

  it('a status is an answer although the body is broken off, and odd header bytes do no harm', async () => {
    const { fetch, url } = await plainTarget((socket) =>
      socket.end('HTTP/1.1 204 \xff\r\nX-Odd: \x80\xff\r\n\r\n', 'latin1'),
    );
    expect(await fetch.send(url)).toMatchObject({ ok: true, status: 204 });
    const broken = await plainTarget((socket) =>
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc'),
    );
    expect(await broken.fetch.send(broken.url)).toMatchObject({
      ok: true,
      isCut: true,
      body: Buffer.from('abc'),
    });
  });

  it.each([
    ['no HTTP', 'SSH-2.0-x\r\n'],
    ['HTTP/2', '\0\0\x12\x04\0\0\0\0\0'],
    ['a status that is none', 'HTTP/1.1 99999 X\r\n\r\n'],
    [
      'an upgrade that nobody asked for',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
    ],
    ['100 for a request without Expect', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['endless headers', `HTTP/1.1 200 OK\r\n${'X-Long: 0123456789\r\n'.repeat(5_000)}\r\n`],
  ])('%s is an answer that cannot be read', async (_, bytes) => {
    const { fetch, url } = await plainTarget((socket) => socket.end(bytes));
    expect(await fetch.send(url)).toEqual({ ok: false, reason: 'no_http' });
  });

  it.each<[string, Answering]>([
    ['nothing', (socket) => socket.end()],
    ['a reset', (socket) => socket.resetAndDestroy()],
    ['half a status line', (socket) => socket.end('HTTP/1.1 2')],
    ['half of the headers', (socket) => socket.end('HTTP/1.1 200 OK\r\nX-A: b\r\n')],
    ['1xx alone', (socket) => socket.end('HTTP/1.1 103 Early Hints\r\n\r\n')],
  ])('%s before the status is a connection that was closed', async (_, answering) => {
    const { fetch, url } = await plainTarget(answering);
    expect(await fetch.send(url)).toEqual({ ok: false, reason: 'closed' });
  });

  it('no connection is the network’s', async () => {
    const { target, fetch, url } = await plainTarget();
    await target.close();
    expect(await fetch.send(url)).toEqual(network);
  });
});

describe('kept connections', () => {
  it('[EGR-12] are used again while their address is still in the answer, and only then', async () => {
    let addresses = [publicAddress];
    const { target, fetch, url } = await secureTarget(async () => addresses, [['9.9.9.9', '127.0.0.1']]);
    for (let i = 0; i < 12; i += 1) expect(await fetch.send(url)).toMatchObject({ ok: true });
    expect(target.connections).toHaveLength(1);
    addresses = ['9.9.9.9'];
    expect(await fetch.send(url)).toMatchObject({ ok: true });
    expect(target.connections).toHaveLength(2);
    addresses = ['127.0.0.1'];
    expect(await fetch.send(url)).toEqual(blocked);
  });

  it('that were closed by the other side do not fail a request', async () => {
    const { target, fetch, url } = await plainTarget((socket) => socket.end(okAnswer));
    for (let i = 0; i < 5; i += 1) expect(await fetch.send(url)).toMatchObject({ ok: true });
    expect(target.connections).toHaveLength(5);
  });

  it('many requests at once have a connection each, and share a signal without a warning', async () => {
    const warnings: Error[] = [];
    const warn = (warning: Error) => warnings.push(warning);
    process.on('warning', warn);
    const target = keep(await startTarget(okAnswer, { certificate: 'server' }));
    const fetch = keep(standInFetch(async () => [publicAddress]));
    const { signal } = new AbortController();
    const sent = Array.from({ length: 20 }, (_, i) =>
      fetch.send(`https://${publicAddress}:${target.port}/${i}`, { signal }),
    );
    const named = Array.from({ length: 20 }, (_, i) =>
      fetch.send(`https://a${i}.example.test:${target.port}/`, { signal }),
    );
    expect((await Promise.all(sent)).filter(({ ok }) => ok)).toHaveLength(20);
    await Promise.all(named);
    process.off('warning', warn);
    expect([target.connections.length, warnings]).toEqual([20, []]);
  });

  it('close aborts what is under way, and what comes later', async () => {
    const { target, fetch, url } = await plainTarget(() => undefined);
    const sending = fetch.send(url);
    await vi.waitFor(() => expect(target.requests).toHaveLength(1));
    fetch.close();
    expect(await sending).toEqual({ ok: false, reason: 'aborted' });
    expect(await fetch.send(url)).toEqual({ ok: false, reason: 'aborted' });
  });
});

function keep<T extends { close(): unknown }>(each: T): T {
  open.push(each);
  return each;
}

async function secureTarget(records: Parameters<typeof standInFetch>[0], asIf: [string, string][] = []) {
  const target: StandInTarget = keep(await startTarget(okAnswer, { certificate: 'server' }));
  const map = new Map([[publicAddress, '127.0.0.1'], ...asIf]);
  const fetch = keep(standInFetch(records, { asIf: map }));
  return { target, fetch, url: `https://${name}:${target.port}/in` };
}

async function plainTarget(answering: Answering = okAnswer) {
  const target = keep(await startTarget(answering));
  const fetch = keep(standInFetch({}, { policy: loopback }));
  return { target, fetch, url: `http://127.0.0.1:${target.port}/` };
}
