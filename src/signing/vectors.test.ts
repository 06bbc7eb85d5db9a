import { describe, expect, it } from 'vitest';
import { request, type Vector, vectors } from '../../test/support/signature-vectors.ts';
import { compileScheme, type HmacDescription, providers, sign, verify } from './index.ts';

/** Vectors through schemes that a user describes as data. */
const seconds = 1_700_000_000;
const eventId = { digest: 'body' } as const;

/** How the sender that uses a header signs, beyond hash, header and encoding. */
const described: Record<string, Partial<HmacDescription>> = {
  'X-Hub-Signature-256': { prefix: 'sha256=' },
  'X-Gitea-Signature': {},
  'Linear-Signature': {},
  'Sentry-Hook-Signature': {},
  'X-Dropbox-Signature': {},
  'X-Hook-Signature': {},
  'X-Notion-Signature': { prefix: 'sha256=' },
  'X-PagerDuty-Signature': { list: ',', field: 'v1' },
  'X-CC-Webhook-Signature': {},
  'X-Shopify-Hmac-Sha256': {},
  'X-WC-Webhook-Signature': {},
  'X-DocuSign-Signature-1': {},
  'Typeform-Signature': { prefix: 'sha256=' },
  'x-twitter-webhooks-signature': { prefix: 'sha256=' },
  'Stripe-Signature': stampedIn('t', ',', 'v1', '{timestamp}.{body}'),
  'Calendly-Webhook-Signature': stampedIn('t', ',', 'v1', '{timestamp}.{body}'),
  'Paddle-Signature': stampedIn('ts', ';', 'h1', '{timestamp}:{body}'),
  'X-Slack-Signature': stampedBeside('X-Slack-Request-Timestamp'),
  'x-zm-signature': stampedBeside('x-zm-request-timestamp'),
};

/** The vectors that a description of the configuration says; the others are those of providers (provider-vectors.test.ts). */
const ids = [
  'github-docs',
  'octokit-basic',
  'octokit-escape-uppercase',
  'adnanh-sha256',
  'body-sha256-hex',
  'body-sha256-base64',
  'ts-dot-body-hex',
  'ts-colon-body-hex',
  'v0-ts-body-hex',
];

const rows = ids
  .map((id) => vectors.get(id) as Vector)
  .flatMap((vector) =>
    Object.entries(vector.headers ?? { 'X-Hub-Signature-256': `sha256=${vector.expected}` })
      .filter(([name]) => !name.endsWith('-timestamp'))
      .map(([header, value]) => ({ name: `${vector.id} in ${header}`, ...caseOf(vector, header, value) })),
  );

describe.each(rows)(
  'the vector $name',
  ({ vector, description, scheme, headers, envelope, header, value }) => {
    const window = { toleranceSeconds: 0 };

    it('[SIG-1][SIG-2] verifies', () => {
      const timestamp = description.timestamp ? { timestamp: seconds * 1000 } : {};
      expect(verify(envelope, scheme, [vector.key], window)).toEqual({
        ok: true,
        secretIndex: 0,
        ...timestamp,
      });
    });

    it('[SIG-1] is what sign makes', () => {
      const { body } = envelope;
      const made = sign({ body }, scheme, { key: vector.key, timestamp: seconds * 1000 }).headers;
      const wanted = Object.fromEntries(headers.map(([name, text]) => [name.toLowerCase(), text]));
      expect(made).toEqual(wanted);
      expect(made[header.toLowerCase()]).toBe(value);
    });

    it('[SIG-3] is refused with another body', () => {
      const body = Buffer.from(envelope.body);
      body[0] = (body[0] as number) ^ 1;
      expect(verify({ ...envelope, body }, scheme, [vector.key], window)).toEqual(bad);
    });

    it('[SIG-2] is refused with another secret', () => {
      expect(verify(envelope, scheme, [`${vector.key}x`, vector.key.slice(1)], window)).toEqual(bad);
    });
  },
);

it('[SIG-8] a vector with a timestamp is refused with another one, and outside its window', () => {
  const timed = rows.filter(({ description }) => description.timestamp);
  expect(timed).toHaveLength(5);
  for (const { vector, scheme, envelope } of timed) {
    const rawHeaders = envelope.rawHeaders.map((text) => text.replace(`${seconds}`, `${seconds + 1}`));
    const changed = verify({ ...envelope, rawHeaders }, scheme, [vector.key], { toleranceSeconds: 60 });
    expect(changed).toEqual(bad);
    const receivedAt = (seconds + 61) * 1000;
    const late = verify({ ...envelope, receivedAt }, scheme, [vector.key], { toleranceSeconds: 60 });
    expect(late).toEqual({ ok: false, reason: 'stale' });
  }
});

describe('the vector github-sha1-legacy', () => {
  const github = compileScheme((providers.github as (typeof providers)[string]).scheme);
  const legacy = vectors.get('github-sha1-legacy') as Vector;
  const docs = vectors.get('github-docs') as Vector;
  const weak = ['X-Hub-Signature', `sha1=${legacy.expected}`];
  const strong = ['X-Hub-Signature-256', `sha256=${docs.expected}`];
  const verdict = (...rawHeaders: string[]) =>
    verify(request(rawHeaders, Buffer.from(legacy.body ?? '')), github, [legacy.key], {
      toleranceSeconds: 300,
    });

  it('[SIG-6] proves nothing when it comes alone', () => {
    expect(verdict(...weak)).toEqual({ ok: false, reason: 'missing_signature' });
  });

  it('[SIG-6] proves nothing in the header of the stronger one, under either label', () => {
    expect(verdict('X-Hub-Signature-256', `sha1=${legacy.expected}`)).toEqual(bad);
    expect(verdict('X-Hub-Signature-256', `sha256=${legacy.expected}`)).toEqual(bad);
  });

  it('[SIG-6] is ignored beside the stronger one, whether it is right or wrong', () => {
    expect(verdict(...weak, ...strong)).toEqual({ ok: true, secretIndex: 0 });
    expect(verdict('X-Hub-Signature', 'sha1=junk', ...strong)).toEqual({ ok: true, secretIndex: 0 });
    expect(verdict(...weak, 'X-Hub-Signature-256', `sha256=${docs.expected.replace('7', '8')}`)).toEqual(bad);
  });
});

it('[SIG-12] sign refuses an unusable secret without telling it', () => {
  const scheme = compileScheme({
    hmac: 'sha256',
    key: 'hex',
    header: 'X',
    encoding: 'hex',
    signed: '{body}',
    eventId,
  });
  expect(() => sign({ body: Buffer.alloc(0) }, scheme, { key: '' })).toThrow('cannot be used as a key');
  expect(() => sign({ body: Buffer.alloc(0) }, scheme, { key: 'not-hex-at-all' })).toThrow(
    /^(?!.*not-hex-at-all)/,
  );
});

const bad = { ok: false, reason: 'bad_signature' };

function caseOf(vector: Vector, header: string, value: string) {
  const description: HmacDescription = {
    hmac: 'sha256',
    header,
    encoding: vector.encoding as 'hex' | 'base64',
    signed: '{body}',
    eventId,
    ...described[header],
  };
  const headers: [string, string][] = [[header, value]];
  if (description.timestamp && 'header' in description.timestamp)
    headers.push([description.timestamp.header, `${seconds}`]);
  return {
    vector,
    description,
    header,
    value,
    headers,
    scheme: compileScheme(description),
    envelope: request(headers.flat(), Buffer.from(vector.body ?? vector.signedText)),
  };
}

function stampedIn(stamp: string, list: string, field: string, signed: string): Partial<HmacDescription> {
  return { list, field, signed, timestamp: { field: stamp, unit: 's' } };
}

function stampedBeside(header: string): Partial<HmacDescription> {
  return { prefix: 'v0=', signed: 'v0:{timestamp}:{body}', timestamp: { header, unit: 's' } };
}
