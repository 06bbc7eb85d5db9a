import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { createHttpHandler } from '../../src/inbound/http-handler.ts';
import { createNameLookup } from '../../src/platform/name-lookup.ts';
import { answerWith, useReceivers } from '../support/receiver.ts';
import { type Answering, okAnswer } from '../support/stand-in-target.ts';
import { waitFor } from '../support/wait-for.ts';
import { handler } from '../support/worker.ts';

const { clock, journal, query, runs, start, receive } = useReceivers();

/** One event, tried once: the try, and what became of its run. */
async function tryOnce(answering: Answering, http: Record<string, unknown> = {}) {
  await query('truncate posthorn.events, posthorn.event_bodies, posthorn.runs, posthorn.run_attempts');
  await journal([{}]);
  const { target, tryAgain } = await receive(answering, http);
  await tryAgain();
  const [attempt] = (await query('select outcome, error, output from posthorn.run_attempts')).rows;
  const [{ status, attempts, next_attempt_at: due }] = await runs();
  const waitsMs = due.getTime() - clock.now();
  return { ...attempt, status, attempts, waitsMs, requests: target.requests.length };
}

it('[IN-17] 2xx is done, with the answer kept', async () => {
  for (const [status, body] of [
    [200, 'thanks'],
    [204, ''],
    [299, 'so \0'],
  ] as const) {
    expect(await tryOnce(answerWith(status, '', body)), `${status}`).toMatchObject({
      outcome: 'done',
      error: null,
      output: body.replace('\0', '\uFFFD'),
      status: 'done',
      requests: 1,
    });
  }
});

it('[IN-17] a refusal fails at once', async () => {
  for (const status of [400, 401, 404, 410, 413, 422, 451]) {
    expect(await tryOnce(answerWith(status, 'Retry-After: 5\r\n', 'no')), `${status}`).toMatchObject({
      outcome: 'rejected',
      error: `the receiver answered ${status}`,
      output: 'no',
      status: 'failed',
      attempts: 1,
    });
  }
});

it('[IN-17] "not now", a fault of the receiver and a redirect are tried again; no redirect is followed', async () => {
  const { target: elsewhere } = await receive();
  const location = `Location: http://127.0.0.1:${elsewhere.port}/\r\n`;
  for (const status of [301, 302, 304, 307, 308, 408, 409, 425, 429, 500, 502, 503, 599]) {
    const ended = await tryOnce(
      answerWith(status, status < 400 ? location : '', status === 304 ? '' : 'later'),
    );
    expect(ended, `${status}`).toMatchObject({
      outcome: 'failed',
      error: `the receiver answered ${status}`,
      status: 'waiting',
      attempts: 1,
      requests: 1,
    });
    expect(ended.waitsMs).toBeGreaterThanOrEqual(8_000);
    expect(ended.waitsMs).toBeLessThanOrEqual(12_000);
  }
  expect(elsewhere.requests).toEqual([]);
});

it('[IN-17] Retry-After is obeyed, in seconds or as a date, and uses up no attempt', async () => {
  const dateIn = (ms: number) => new Date(clock.now() + ms).toUTCString();
  for (const [value, waitsMs] of [
    ['120', 120_000],
    [dateIn(300_000), 300_000],
    ['99999999999999999999', 24 * 3_600_000],
  ] as const) {
    for (const status of [429, 503]) {
      const ended = await tryOnce(answerWith(status, `Retry-After: ${value}\r\n`));
      const error = `the receiver answered ${status} with Retry-After`;
      expect(ended, value).toMatchObject({
        outcome: 'retry_later',
        error,
        status: 'waiting',
        attempts: 0,
        waitsMs,
      });
    }
  }
});

it('[IN-17] a Retry-After that is neither seconds nor a date is none, nor one that is over', async () => {
  const past = new Date(clock.now() - 300_000).toUTCString();
  for (const value of ['-5', '1.5', 'soon', '', '5 minutes', 'Tuesday', '0', past]) {
    const ended = await tryOnce(answerWith(503, `Retry-After: ${value}\r\n`));
    expect(ended, value).toMatchObject({ outcome: 'failed', status: 'waiting', attempts: 1 });
  }
});

it('[IN-17] no answer within the time-out is a try that timed out', async () => {
  const slow: Answering[] = [() => {}, (socket) => void socket.write('HTTP/1.1 200 OK\r\n')];
  for (const answering of slow) {
    const ended = await tryOnce(answering, { timeoutMs: 300 });
    expect(ended).toMatchObject({ outcome: 'timed_out', status: 'waiting', attempts: 1, requests: 1 });
    expect(ended.error).toMatch(/^the receiver took longer than \d+ ms$/);
  }
});

it('[IN-17] a status that came in time counts, though the rest of the answer does not come', async () => {
  const answering: Answering = (socket) =>
    void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab');
  expect(await tryOnce(answering, { timeoutMs: 300 })).toMatchObject({ outcome: 'done', requests: 1 });
});

it('[IN-17] a connection that is refused or cut, and an answer that is none, are each a failed attempt that says so', async () => {
  const closed = 'the receiver closed the connection before its answer';
  const cases: [Answering, string][] = [
    [(socket) => void socket.resetAndDestroy(), closed],
    [(socket) => void socket.end(), closed],
    ['SSH-2.0-OpenSSH\r\n', 'the receiver answered with something that is no HTTP, or that cannot be read'],
  ];
  for (const [answering, error] of cases)
    expect(await tryOnce(answering)).toMatchObject({
      outcome: 'failed',
      error,
      output: null,
      status: 'waiting',
      attempts: 1,
    });
  const { target } = await receive();
  await target.close();
  expect(await tryOnce(okAnswer, { url: `http://127.0.0.1:${target.port}/` })).toMatchObject({
    outcome: 'failed',
    error: 'the receiver could not be reached',
    status: 'waiting',
    requests: 0,
  });
});

it('[IN-17] a name that comes to lead to a private network is blocked, and the message holds no address', async () => {
  const { close, ...made } = createHttpHandler(
    { url: 'https://hooks.example.com/', timeoutMs: 2_000, allowPrivate: ['192.168.0.0/16'] },
    { secrets: () => undefined, clock, lookup: createNameLookup(async () => ['10.1.2.3']) },
  );
  await journal([{}]);
  const worker = await start(handler(made.run));
  await worker.round();
  await worker.idle();
  close();
  const { rows } = await query('select outcome, error, output from posthorn.run_attempts');
  expect(rows).toEqual([
    {
      outcome: 'failed',
      error:
        'the address of the receiver is not allowed: open its network with allowPrivate, or correct the URL',
      output: null,
    },
  ]);
});

it('[IN-17] a worker that stops amid a request gives its run back without an attempt', async () => {
  await journal([{}]);
  const sockets: Socket[] = [];
  const { worker, target } = await receive((socket) => void sockets.push(socket));
  await worker.round();
  await waitFor('the request to arrive', () => target.requests.length === 1);
  const closed = new Promise((resolve) => sockets[0]?.once('close', resolve));
  await worker.work.stop(0);
  await closed;
  expect(await runs()).toMatchObject([{ status: 'waiting', attempts: 0, deaths: 0 }]);
  expect((await query('select from posthorn.run_attempts')).rows).toEqual([]);
});

it('[IN-17] an endless answer is cut, and what is kept of it is bounded', async () => {
  const ended = await tryOnce((socket) => {
    socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
    const pour = () => {
      while (socket.writable && socket.write(`1000\r\n${'x'.repeat(4_096)}\r\n`));
    };
    socket.on('drain', pour);
    pour();
  });
  expect(ended).toMatchObject({ outcome: 'done', status: 'done' });
  expect(ended.output).toBe('x'.repeat(4_096));
});
