import { createHmac, createSecretKey } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  body,
  type CaseName,
  caseNames,
  caseOf,
  envelope,
  mac,
  now,
  secret,
} from '../../test/support/signed-requests.ts';
import { verifyFailures } from '../core/outcome.ts';
import { compileScheme, identify, sign, verify } from './index.ts';
import { idEnds, signedParts } from './template.ts';

const window = { toleranceSeconds: 300 };
const bad = { ok: false, reason: 'bad_signature' };
const others = ['another secret, long enough', 'a third secret, long enough'] as const;

/** The verdict on a request that `key` signed, judged with `secrets`. */
function verdictFor(name: CaseName, key: string, secrets: Parameters<typeof verify>[2]) {
  const { scheme, headers, signature } = caseOf(name);
  return verify(envelope(headers(signature(body, { key }))), scheme, secrets, window);
}

describe.each(caseNames)('%s', (name) => {
  it('[SIG-10] any of three secrets accepts, and the verdict says which', () => {
    const secrets = [secret, ...others];
    for (const [index, key] of secrets.entries()) {
      expect(verdictFor(name, key, secrets)).toMatchObject({ ok: true, secretIndex: index });
      expect(verdictFor(name, key, secrets.toReversed())).toMatchObject({ ok: true, secretIndex: 2 - index });
    }
  });

  it('[SIG-10] keys that were read before and plain texts are judged alike', () => {
    const keys = [others[0], createSecretKey(Buffer.from(secret)), others[1]];
    expect(verdictFor(name, secret, keys)).toMatchObject({ ok: true, secretIndex: 1 });
  });

  it('[SIG-2] a secret that is not among them accepts nothing', () => {
    expect(verdictFor(name, 'a foreign secret, long enough', [secret, ...others])).toEqual(bad);
    expect(verdictFor(name, secret, [`${secret} `, secret.slice(1), secret.toUpperCase()])).toEqual(bad);
    expect(verdictFor(name, secret, [])).toEqual(bad);
  });

  it('[SIG-4][SIG-5] an empty secret never accepts, not even the MAC of an empty key', () => {
    expect(verdictFor(name, '', [''])).toEqual(bad);
    expect(verdictFor(name, '', ['', secret])).toEqual(bad);
    const { scheme, headers, signature } = caseOf(name);
    const nothing = Buffer.alloc(0);
    const empty = envelope(headers(signature(nothing, { key: '' })), nothing);
    expect(verify(empty, scheme, [''], window)).toEqual(bad);
    expect(verify(envelope(headers(''), nothing), scheme, [''], window).ok).toBe(false);
  });

  it('[SIG-12] a refusal is a word of the closed list and nothing else', () => {
    const { scheme, headers, signature } = caseOf(name);
    const requests = [
      envelope([]),
      envelope(headers('junk')),
      envelope(headers(signature(body, { key: others[0], timestamp: '1600000000' }), '1600000000')),
      envelope(headers(signature()), Buffer.from('another body')),
    ];
    for (const request of requests) {
      const verdict = verify(request, scheme, [secret], window);
      expect(verdict).toEqual({ ok: false, reason: expect.toBeOneOf([...verifyFailures]) });
    }
  });

  it('[SIG-2] no request made up at random is accepted or makes verify or identify throw', () => {
    const { scheme } = caseOf(name);
    fc.assert(
      fc.property(rawHeaders, anyBody, fc.double(), (headers, sent, receivedAt) => {
        const request = envelope(headers, Buffer.from(sent), receivedAt);
        expect(verify(request, scheme, [secret, ...others], window).ok).toBe(false);
        const { eventId } = identify(request, scheme, { id: headers[1], nested: headers });
        expect(typeof eventId === 'object' ? eventId.value : eventId).toMatch(/^[A-Za-z0-9_.:=/+-]{1,200}$/);
      }),
      { numRuns: 300 },
    );
  });
});

it('[SIG-4][SIG-5] a key object without a byte never accepts either', () => {
  expect(verdictFor('hex', '', [createSecretKey(Buffer.alloc(0))])).toEqual(bad);
});

describe('a key that is written in hex or base64', () => {
  const bytes = createHmac('sha256', 'some').update('bytes').digest();
  const signed = envelope(['X-Sign', mac('hex', [body], bytes)]);
  const scheme = (key: 'hex' | 'base64') =>
    compileScheme({
      hmac: 'sha256',
      key,
      header: 'X-Sign',
      encoding: 'hex',
      signed: '{body}',
      eventId: { digest: 'body' },
    });

  it('[SIG-2] is used as the bytes that it stands for', () => {
    for (const key of ['hex', 'base64'] as const)
      expect(verify(signed, scheme(key), [bytes.toString(key)], window)).toEqual({
        ok: true,
        secretIndex: 0,
      });
  });

  it('[SIG-5] accepts nothing when the text is not in that encoding', () => {
    for (const key of ['hex', 'base64'] as const) {
      const text = bytes.toString(key);
      const lenient = [`${text}!`, `${text} `, `${text}\n`, ` ${text}`, `${text}?AA`];
      expect(verify(signed, scheme(key), lenient, window)).toEqual(bad);
    }
    // Node's decoder would stop at the first character and give the empty key.
    expect(verify(envelope(['X-Sign', mac('hex', [body], '')]), scheme('hex'), ['zz', ''], window)).toEqual(
      bad,
    );
  });
});

it('[SIG-1] what sign makes under any description verifies, and not with another body or secret', () => {
  const label = fc.stringMatching(/^[a-z][a-z0-9]{0,4}$/);
  const literal = fc.stringMatching(/^[ -z]{0,8}$/);
  const shape = fc.record({
    hmac: fc.constantFrom('sha1' as const, 'sha256' as const, 'sha512' as const),
    encoding: fc.constantFrom('hex' as const, 'base64' as const),
    prefix: fc.stringMatching(/^[a-z0-9=]{0,8}$/),
    labels: fc.option(fc.uniqueArray(label, { minLength: 2, maxLength: 2 })),
    separator: fc.constantFrom(',', ';', '|'),
    parts: fc.shuffledSubarray(['{body}', '{timestamp}', '{id}'], { minLength: 3 }),
    literals: fc.array(literal, { minLength: 4, maxLength: 4 }),
    unit: fc.constantFrom('s' as const, 'ms' as const),
    sent: fc.uint8Array({ maxLength: 64 }),
  });
  fc.assert(
    fc.property(shape, ({ labels, separator, parts, literals, unit, sent, ...rest }) => {
      const signed = literals.map((text, index) => text + (parts[index] ?? '')).join('');
      fc.pre(!idEnds(signedParts(signed)).some((end) => 'evt_1'.includes(end)));
      const scheme = compileScheme({
        ...rest,
        header: 'X-Sign',
        ...(labels ? { list: separator, field: labels[0] as string } : {}),
        signed,
        timestamp: labels ? { field: labels[1] as string, unit } : { header: 'X-Time', unit },
        eventId: { header: 'X-Id' },
      });
      const headers = Object.entries(
        sign({ body: Buffer.from(sent) }, scheme, { key: secret, id: 'evt_1', timestamp: now }).headers,
      );
      const request = envelope(headers.flat(), Buffer.from(sent));
      expect(verify(request, scheme, [secret], window)).toEqual({ ok: true, secretIndex: 0, timestamp: now });
      expect(verify(request, scheme, [others[0]], window)).toEqual(bad);
      const longer = { ...request, body: Buffer.concat([request.body, Buffer.from([0])]) };
      expect(verify(longer, scheme, [secret], window)).toEqual(bad);
    }),
    { numRuns: 300 },
  );
});

const anyBody = fc.uint8Array({ maxLength: 64 });
const digits = (length: number, of: string) =>
  fc.string({ unit: fc.constantFrom(...of), minLength: length, maxLength: length });
const piece = fc.oneof(
  fc.string({ unit: 'binary' }),
  digits(64, '0123456789abcdefABCDEF'),
  digits(43, 'ABCXYZabcxyz019+/').map((text) => `${text}=`),
  fc.constantFrom('1700000000', 't=1700000000', 'v1=', 'v0=', 'sha256=', ',', '', '=', 'evt_1'),
);
const value = fc
  .array(piece, { maxLength: 5 })
  .chain((pieces) => fc.constantFrom(pieces.join(''), pieces.join(',')));
const headerName = fc.oneof(
  fc.constantFrom('X-Sign', 'x-sign', 'X-Time', 'x-time', 'X-Id', 'X-ID'),
  fc.string({ unit: 'binary' }),
);
const rawHeaders = fc
  .array(fc.tuple(headerName, value), { maxLength: 6 })
  .chain((pairs) => fc.constantFrom(pairs.flat(), [...pairs.flat(), 'X-Sign']));
