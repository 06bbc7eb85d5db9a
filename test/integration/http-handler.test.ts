import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createLog } from '../../src/platform/log.ts';
import {
  answerWith,
  parseRequest,
  receiverSecrets,
  useReceivers,
  verifyRequest,
} from '../support/receiver.ts';
import { okAnswer } from '../support/stand-in-target.ts';
import { waitFor } from '../support/wait-for.ts';

const { clock, journal, query, runs, path, receive } = useReceivers();
const [secret, nextSecret] = receiverSecrets;

it('[IN-17] the receiver gets the bytes and the content type that arrived, under the names that are documented', async () => {
  const body = randomBytes(200_000);
  const headers =
    '[["content-TYPE","application/x-Odd; charset=\\"x\\""],["Authorization","[redacted]"],["X-Own","1"]]';
  await journal([{ body, headers, eventId: 'event-1', eventType: 'invoice paid' }]);
  const { target, tryAgain } = await receive();
  await tryAgain();
  const { line, pairs, headers: sent, body: arrived } = parseRequest(target.requests[0]);
  expect(line).toBe('POST /hooks HTTP/1.1');
  expect(arrived.equals(body)).toBe(true);
  const [{ id }] = await runs();
  expect(sent).toMatchObject({
    host: `127.0.0.1:${target.port}`,
    'content-length': '200000',
    'content-type': 'application/x-Odd; charset="x"',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(clock.now() / 1_000)),
    'idempotency-key': id,
    'x-posthorn-source': 'github',
    'x-posthorn-event': 'invoice paid',
    'x-posthorn-event-id': 'event-1',
    'user-agent': 'posthorn',
  });
  expect(pairs.map(([name]) => name).filter((name) => /authorization|x-own/i.test(name))).toEqual([]);
  expect(new Set(pairs.map(([name]) => name.toLowerCase())).size).toBe(pairs.length);
});

it('[IN-17] an event without type, content type or body is sent without these headers', async () => {
  await journal([{ eventType: null, headers: '[]', body: Buffer.alloc(0) }]);
  const { target, tryAgain } = await receive();
  await tryAgain();
  const { headers, body } = parseRequest(target.requests[0]);
  expect(body).toHaveLength(0);
  expect(headers['content-length']).toBe('0');
  expect(Object.keys(headers).filter((name) => /content-type|x-posthorn-event$/i.test(name))).toEqual([]);
  expect(await runs()).toMatchObject([{ status: 'done' }]);
});

it('[IN-17] another implementation of Standard Webhooks verifies the signature, and no other secret or body', async () => {
  await journal([{ body: Buffer.from('{"a":"ü€"}', 'utf8') }]);
  const { target, tryAgain } = await receive();
  await tryAgain();
  const [request] = target.requests;
  verifyRequest(request, secret, clock.now());
  expect(() => verifyRequest(request, secret, clock.now(), '{"a":"other"}')).toThrow('signature');
  expect(() => verifyRequest(request, nextSecret, clock.now())).toThrow('signature');
  expect(() => verifyRequest(request, secret, clock.now() + 3_600_000)).toThrow('timestamp');
});

it('[IN-17] all tries of a run have one id, each its own date; a replay has another id', async () => {
  const [event] = await journal([{}]);
  const { target, tryAgain } = await receive(answerWith(500));
  for (let n = 0; n < 3; n++) {
    await tryAgain();
    clock.advance(3_600_000);
  }
  const [{ id }] = await runs();
  const tried = target.requests.map((request) => parseRequest(request).headers);
  expect(tried.map((headers) => headers['webhook-id'])).toEqual([id, id, id]);
  expect(tried.map((headers) => headers['idempotency-key'])).toEqual([id, id, id]);
  expect(new Set(tried.map((headers) => headers['webhook-timestamp'])).size).toBe(3);
  await query("update posthorn.runs set status = 'done' where id = $1", [id]);
  await query(
    "insert into posthorn.runs (event, handler, replay, next_attempt_at) values ($1, 'app', 1, to_timestamp(0))",
    [event],
  );
  await tryAgain();
  const [replay] = (await query('select id from posthorn.runs where replay = 1')).rows;
  const replayed = parseRequest(target.requests[3]).headers;
  expect(replayed['webhook-id']).toBe(`${replay.id}:r1`);
  expect(replayed['idempotency-key']).toBe(`${replay.id}:r1`);
  verifyRequest(target.requests[3], secret, clock.now());
});

it('[IN-17] without a secret requests are not signed, and the start warns', async () => {
  const lines: string[] = [];
  const log = createLog({ level: 'warn', destination: { write: (line: string) => void lines.push(line) } });
  await journal([{}]);
  const { target, tryAgain } = await receive(okAnswer, { log, secretFile: undefined });
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { event: 'handler.unsigned', handler: 'app' },
  ]);
  await tryAgain();
  const { headers } = parseRequest(target.requests[0]);
  const [{ id }] = await runs();
  expect(headers['webhook-id']).toBe(id);
  expect(headers['webhook-signature']).toBeUndefined();
});

it('[IN-17] two secrets sign twice, so that a receiver may have either', async () => {
  await journal([{}]);
  const { target, tryAgain } = await receive(okAnswer, { secretFile: ['secret', 'next'] });
  await tryAgain();
  expect(parseRequest(target.requests[0]).headers['webhook-signature']).toMatch(/^v1,\S{44} v1,\S{44}$/);
  for (const either of receiverSecrets) verifyRequest(target.requests[0], either, clock.now());
});

it('[IN-17] a changed secret is taken while it runs; a secret that is gone sends nothing', async () => {
  const { target, worker, tryAgain } = await receive(okAnswer);
  writeFileSync(path('secret'), `${nextSecret}\n`);
  await waitFor(
    'the new secret to sign',
    async () => {
      await journal([{}]);
      await tryAgain();
      try {
        verifyRequest(target.requests.at(-1), nextSecret, clock.now());
        return true;
      } catch {
        return false;
      }
    },
    { everyMs: 200 },
  );
  writeFileSync(path('secret'), '');
  await waitFor(
    'the secret to be gone',
    async () => {
      await journal([{}]);
      await tryAgain();
      const { rows } = await query("select error from posthorn.run_attempts where outcome <> 'done'");
      return rows.length > 0;
    },
    { everyMs: 200 },
  );
  const { rows } = await query("select outcome, error from posthorn.run_attempts where outcome <> 'done'");
  expect(rows).toEqual([
    { outcome: 'failed', error: 'the secret of this handler cannot be used at the moment' },
  ]);
  expect(
    target.requests.every((request) => parseRequest(request).headers['webhook-signature'] !== undefined),
  ).toBe(true);
  expect(target.requests).toHaveLength((await runs()).filter(({ status }) => status === 'done').length);
  expect(worker.work.runningCount).toBe(0);
});
