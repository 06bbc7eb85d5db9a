import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { describe, expect, it } from 'vitest';
import { signStandard, standardSecret, standardSecretProblem } from './index.ts';

/** The libraries compare the timestamp with the real time. */
const timestampSeconds = Math.floor(Date.now() / 1000);
const id = '0190b0c0-5d0e-7c3a-9f53-2b1c1d9b6a11';
const prefixed = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const plain = 'correct horse battery staple';
const body = Buffer.from('{"name":"Zoë 🦊",  "n":1.0}\n');

it('[SIG-14] gives the signature that the libraries publish as their test', () => {
  const headers = signStandard({
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestampSeconds: 1_614_265_330,
    body: Buffer.from('{"test": 2432232314}'),
    secrets: [prefixed],
  });
  expect(headers).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

describe.each([
  ['standardwebhooks', (secret: string) => new Webhook(secret)],
  ['svix', (secret: string) => new SvixWebhook(secret)],
])('the library %s', (_, library) => {
  const headersOf = (secrets: string[], of = id) =>
    signStandard({ id: of, timestampSeconds, body, secrets }) as Record<string, string>;

  it.each([prefixed, plain])('[SIG-14][IN-17] verifies what is signed with %s, unchanged', (secret) => {
    const receiver = library(standardSecret(secret));
    expect(receiver.verify(body, headersOf([secret]))).toEqual({ name: 'Zoë 🦊', n: 1 });
    expect(receiver.verify(body, headersOf([secret], `${id}:r1`))).toBeTruthy();
    expect(receiver.verify(body, headersOf([secret], 'members:42'))).toBeTruthy();
  });

  it('[SIG-14] accepts either of two secrets, and no third', () => {
    const headers = headersOf([prefixed, plain]);
    expect(library(prefixed).verify(body, headers)).toBeTruthy();
    expect(library(standardSecret(plain)).verify(body, headers)).toBeTruthy();
    expect(() => library(standardSecret('another secret of 20')).verify(body, headers)).toThrow();
  });

  it('[SIG-14] refuses another body, id or time', () => {
    const headers = headersOf([prefixed]);
    const receiver = library(prefixed);
    expect(() => receiver.verify(`${body} `, headers)).toThrow();
    expect(() => receiver.verify(body, { ...headers, 'webhook-id': `${id}:r1` })).toThrow();
    const later = String(timestampSeconds + 1);
    expect(() => receiver.verify(body, { ...headers, 'webhook-timestamp': later })).toThrow();
  });
});

it('[SIG-3][SIG-14] signs bytes that are no text as they are', () => {
  const bytes = Buffer.from([0xff, 0xfe, 0, 0xc3, 0x28]);
  const headers = signStandard({ id, timestampSeconds, body: bytes, secrets: [plain] });
  const signed = Buffer.concat([Buffer.from(`${id}.${timestampSeconds}.`), bytes]);
  const expected = createHmac('sha256', plain).update(signed).digest('base64');
  expect(headers['webhook-signature']).toBe(`v1,${expected}`);
});

describe('[SIG-5][SIG-9] signStandard refuses', () => {
  const good = { id, timestampSeconds, body, secrets: [plain] };

  it.each(['a.b', '', 'a b', 'a\n', 'ä', 'x'.repeat(201)])('the id %j', (bad) => {
    expect(() => signStandard({ ...good, id: bad })).toThrow(/id/);
  });

  it.each([1.5, -1, Number.NaN, 2 ** 53])('the time %d', (bad) => {
    expect(() => signStandard({ ...good, timestampSeconds: bad })).toThrow(/timestamp/);
  });

  it('no secret, or three', () => {
    expect(() => signStandard({ ...good, secrets: [] })).toThrow(/one or two/);
    expect(() => signStandard({ ...good, secrets: [plain, plain, plain] })).toThrow(/one or two/);
  });

  it.each([
    ['', /empty/],
    ['whsec_', /missing/],
    ['whsec_c2hvcnQ=', /has 5 bytes/],
    ['whsec_not base64 at all!', /not valid base64/],
    ['tooshort', /has 8 bytes/],
    ['whpk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', /public key/],
  ])('the secret %j, without telling it', (secret, problem) => {
    expect(standardSecretProblem(secret)).toMatch(problem);
    expect(() => signStandard({ ...good, secrets: [plain, secret] })).toThrow(problem);
    if (secret.length > 6) expect(standardSecretProblem(secret)).not.toContain(secret.slice(6));
  });
});
