import { generateKeyPairSync, sign as signBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ed25519PrivateKey } from '../../test/support/provider-requests.ts';
import {
  type Case,
  cases,
  prepared,
  request,
  type Vector,
  vectors,
} from '../../test/support/signature-vectors.ts';
import type { Envelope } from '../core/envelope.ts';
import { compileScheme, providers, sign, verify } from './index.ts';
import { paypalText } from './rsa-cert.ts';

/** The vectors of the senders, each through the sender's own row of the catalogue. */

describe.each(cases)('the vector $id, of $slug', (given) => {
  const { vector, scheme, envelope, secret } = prepared(given);
  const verdict = (changes: Partial<Envelope> = {}, secrets = [secret]) =>
    verify({ ...envelope, ...changes }, scheme, secrets, { toleranceSeconds: 0 });

  it('[SIG-1][SIG-2] verifies', () => {
    const timestamp = given.timestamp === undefined ? {} : { timestamp: given.timestamp };
    expect(verdict()).toEqual({ ok: true, secretIndex: 0, ...timestamp });
  });

  it('[SIG-1][SIG-14] is what sign makes', () => {
    if (given.isRandom) return;
    const key = vector.seedHex === undefined ? secret : ed25519PrivateKey(vector.seedHex);
    const { method, query, body } = envelope;
    const content = Object.fromEntries(
      pairsOf(envelope.rawHeaders).filter(([name]) => /^content-/i.test(name)),
    );
    const made = sign({ method, query, body, headers: content }, scheme, {
      key,
      id: given.eventId ?? '',
      timestamp: given.timestamp ?? 0,
    });
    const headers = new Map(Object.entries(made.headers).map(([name, text]) => [name.toLowerCase(), text]));
    for (const [name, text] of pairsOf(envelope.rawHeaders)) {
      // Of HubSpot's two versions we make the first; this vector is of the second.
      if (given.id === 'hubspot-v2-get') continue;
      if (headers.has(name.toLowerCase())) expect(headers.get(name.toLowerCase()), name).toBe(text);
    }
    expect(verdict({ body: made.body, rawHeaders: [...headers].flat() }).ok).toBe(true);
  });

  it('[SIG-3][SIG-12] is refused with any byte of what is signed changed, and with another secret', () => {
    if (given.slug !== 'adyen')
      for (let at = 0; at < envelope.body.length; at += 1) {
        const body = Buffer.from(envelope.body);
        body[at] = (body[at] as number) ^ 1;
        expect(verdict({ body }).ok, `byte ${at}`).toBe(false);
      }
    expect(verdict({ body: Buffer.concat([envelope.body, Buffer.from('\n')]) }).ok).toBe(
      given.slug === 'adyen',
    );
    expect(verdict({}, [`${secret}0`, secret.slice(1), ''])).toMatchObject({ ok: false });
  });

  it('[SIG-8] is refused outside its window', () => {
    if (given.timestamp === undefined) return;
    for (const receivedAt of [given.timestamp + 1000, given.timestamp - 1000])
      expect(verdict({ receivedAt })).toEqual({ ok: false, reason: 'stale' });
  });
});

it('[SIG-3] the vector sendgrid-ecdsa fails without its last CRLF', () => {
  const { scheme, envelope, secret } = prepared(caseOf('sendgrid-ecdsa'));
  const body = envelope.body.subarray(0, -2);
  expect(envelope.body.subarray(-2).toString()).toBe('\r\n');
  expect(verify({ ...envelope, body }, scheme, [secret], { toleranceSeconds: 0 }).ok).toBe(false);
});

it('[SIG-5] the vector stripe-full-header has the whole text of its secret as the key, not what base64 makes of it', () => {
  const { scheme, envelope, secret } = prepared(caseOf('stripe-full-header'));
  const text = secret.slice('whsec_'.length);
  expect(verify(envelope, scheme, [text], { toleranceSeconds: 0 })).toMatchObject({ ok: false });
});

/** Vectors of a bare HMAC, through descriptions as a user writes them. */
describe.each([
  { id: 'adnanh-sha1', description: { hmac: 'sha1', prefix: 'sha1=' } },
  { id: 'stripe-node-hmac-empty', description: { hmac: 'sha256' } },
  { id: 'stripe-node-hmac-json', description: { hmac: 'sha256' } },
] as const)('the vector $id', ({ id, description }) => {
  it('[SIG-1] verifies, and is what sign makes', () => {
    const vector = vectors.get(id) as Vector;
    const scheme = compileScheme({
      ...description,
      header: 'X-Signature',
      encoding: 'hex',
      signed: '{body}',
      eventId: { digest: 'body' },
    });
    const made = sign({ body: Buffer.from(vector.signedText) }, scheme, { key: vector.key });
    expect(made.headers['x-signature']?.endsWith(vector.expected)).toBe(true);
    const envelope = request(Object.entries(made.headers).flat(), made.body);
    expect(verify(envelope, scheme, [vector.key], { toleranceSeconds: 0 })).toEqual({
      ok: true,
      secretIndex: 0,
    });
    const body = Buffer.concat([made.body, Buffer.from('x')]);
    expect(verify({ ...envelope, body }, scheme, [vector.key], { toleranceSeconds: 0 }).ok).toBe(false);
  });
});

it('[SIG-1][SIG-8] the vector scalr, which signs the text of the header Date, verifies within its window', () => {
  const { key, body, headers = {} } = vectors.get('scalr') as Vector;
  const scheme = compileScheme({
    hmac: 'sha1',
    header: 'X-Signature',
    encoding: 'hex',
    signed: '{body}{timestamp}',
    timestamp: { header: 'Date', unit: 'date' },
    eventId: { digest: 'body' },
  });
  const timestamp = Date.UTC(2017, 8, 7, 6, 30, 4);
  const envelope = request(Object.entries(headers).flat(), Buffer.from(body as string));
  const at = (receivedAt: number) =>
    verify({ ...envelope, receivedAt }, scheme, [key], { toleranceSeconds: 300 });
  expect(at(timestamp)).toEqual({ ok: true, secretIndex: 0, timestamp });
  expect(at(timestamp + 300_999)).toMatchObject({ ok: true });
  expect(at(timestamp + 301_000)).toEqual({ ok: false, reason: 'stale' });
  const made = sign({ body: envelope.body }, scheme, { key, timestamp });
  expect(made.headers.date).toBe('Thu, 07 Sep 2017 06:30:04 GMT');
  const signed = { ...envelope, rawHeaders: Object.entries(made.headers).flat(), receivedAt: timestamp };
  expect(verify(signed, scheme, [key], { toleranceSeconds: 0 })).toMatchObject({ ok: true });
  const other = { ...headers, Date: 'Thu 07 Sep 2017 06:30:05 UTC' };
  expect(
    verify({ ...envelope, rawHeaders: Object.entries(other).flat() }, scheme, [key], {
      toleranceSeconds: 1e9,
    }).ok,
  ).toBe(false);
});

it('[SIG-1] the vector paypal-signing-string is the text that PayPal signs', () => {
  const vector = vectors.get('paypal-signing-string') as Vector;
  const [id = '', timestamp = '', webhookId = ''] = vector.signedText.split('|');
  const body = Buffer.from(vector.body as string);
  expect(paypalText({ id, timestamp, webhookId, body }).toString()).toBe(vector.signedText);
});

describe('the vector sns-canonical-string', () => {
  const vector = vectors.get('sns-canonical-string') as Vector;
  const lines = vector.signedText.trimEnd().split('\n');
  const fields = Object.fromEntries(lines.flatMap((name, at) => (at % 2 ? [] : [[name, lines[at + 1]]])));
  const { publicKey, privateKey: key } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const scheme = compileScheme((providers['aws-sns'] as (typeof providers)[string]).scheme, {
    topics: [fields.TopicArn as string],
  });
  const pem = publicKey.export({ type: 'spki', format: 'pem' }) as string;
  const receivedAt = Date.parse(fields.Timestamp as string);
  const judged = (hash: string, version: string, more: object = {}) => {
    const Signature = signBytes(hash, Buffer.from(vector.signedText), key).toString('base64');
    const SigningCertURL = 'https://sns.us-east-1.amazonaws.com/SimpleNotificationService-1.pem';
    const body = Buffer.from(
      JSON.stringify({ ...fields, ...more, SignatureVersion: version, Signature, SigningCertURL }),
    );
    return verify({ ...request([], body), receivedAt }, scheme, [pem], { toleranceSeconds: 0 });
  };

  it('[SIG-13] is the text that SNS signs, with SHA-1 in version 1 and SHA-256 in version 2', () => {
    expect(judged('sha1', '1')).toEqual({ ok: true, secretIndex: 0, timestamp: receivedAt });
    expect(judged('sha256', '2')).toEqual({ ok: true, secretIndex: 0, timestamp: receivedAt });
    expect(judged('sha1', '2').ok).toBe(false);
    expect(judged('sha256', '1').ok).toBe(false);
    expect(judged('sha256', '2', { Subject: 'more' }).ok).toBe(false);
  });
});

it('[SIG-1] every vector of the file is a test', () => {
  const others = [
    // vectors.test.ts
    ...['github-docs', 'github-sha1-legacy', 'octokit-basic', 'octokit-escape-uppercase', 'adnanh-sha256'],
    ...['body-sha256-hex', 'body-sha256-base64', 'ts-dot-body-hex', 'ts-colon-body-hex', 'v0-ts-body-hex'],
    // above, and as answers: inbound/handshakes/vectors.test.ts
    ...['stripe-node-hmac-empty', 'stripe-node-hmac-json', 'adnanh-sha1', 'scalr'],
    ...['paypal-signing-string', 'sns-canonical-string', 'zoom-url-validation', 'x-crc-gist-inputs'],
  ];
  expect([...cases.map(({ id }) => id), ...others].sort()).toEqual([...vectors.keys()].sort());
});

function caseOf(id: string): Case {
  return cases.find((each) => each.id === id) as Case;
}

function pairsOf(rawHeaders: readonly string[]): [string, string][] {
  return rawHeaders.flatMap((name, at) =>
    at % 2 ? [] : [[name, rawHeaders[at + 1] as string] as [string, string]],
  );
}
