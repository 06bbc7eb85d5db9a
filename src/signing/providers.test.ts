import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  type ProviderRequest,
  providerRequest,
  receivedAt,
  senderAddress,
} from '../../test/support/provider-requests.ts';
import type { Envelope } from '../core/envelope.ts';
import { identify, itemsOf, parseBody, providers, verify } from './index.ts';
import { pathOf, valueAt, withValueAt } from './paths.ts';

const slugs = Object.keys(providers);
const options = { toleranceSeconds: 300, clientIp: senderAddress };
const accepted = { ok: true };

function verdict({ scheme, secret }: ProviderRequest, envelope: Envelope, changes: object = {}) {
  return verify(envelope, scheme, [secret], { ...options, ...changes });
}

it('[SIG-1] the catalogue holds every sender of the list but Paddle Classic, which signs what only PHP can write', () => {
  const file = new URL('../../test/data/provider-slugs.json', import.meta.url);
  const listed: string[] = JSON.parse(readFileSync(file, 'utf8'));
  expect(listed).toHaveLength(64);
  expect(slugs.filter((slug) => slug !== 'nylas').sort()).toEqual(
    listed.filter((slug) => slug !== 'paddle-classic').sort(),
  );
});

/** Where what is signed stands: in the whole body, in fields of it, or nowhere in it. */
const signedFields: Record<string, readonly string[]> = {
  adyen: ['pspReference', 'eventCode', 'success'].map(
    (name) => `notificationItems.0.NotificationRequestItem.${name}`,
  ),
  mailgun: ['signature.timestamp', 'signature.token', 'signature.signature'],
  'aws-sns': ['Message', 'MessageId', 'Timestamp', 'TopicArn', 'Type', 'SignatureVersion', 'Signature'],
  'ms-graph': ['value.0.clientState'],
};
const proofOutsideBody = [
  'gitlab',
  'azure-devops',
  'dockerhub',
  'chargebee',
  'yookassa',
  'telegram',
  'monday',
  'postmark',
  'okta',
  'auth0',
  'strava',
];
const signsBody = slugs.filter((slug) => !(slug in signedFields) && !proofOutsideBody.includes(slug));

describe.each(slugs)('%s', (slug) => {
  const request = providerRequest(slug);
  const { scheme, envelope } = request;
  const parsed = parseBody(envelope, scheme.body);
  const payload = parsed === 'bad_body' ? undefined : parsed.payload;

  it('[SIG-1][SIG-14] a request that is signed as this sender signs verifies', () => {
    expect(verdict(request, envelope)).toMatchObject(accepted);
  });

  it('[SIG-1] its event has an id, and a type where the sender names one', () => {
    expect(parsed).not.toBe('bad_body');
    const { eventId, eventType } = identify(envelope, scheme, payload);
    expect(eventId).toMatchObject({ value: expect.stringMatching(/^[A-Za-z0-9_.:=/+-]{1,200}$/) });
    expect(eventType).toEqual(scheme.description.eventType === undefined ? null : expect.any(String));
    if (scheme.description.items !== undefined) expect(itemsOf(scheme, payload)).toHaveLength(1);
  });

  it('[SIG-1] the same request identifies as the same event, another as another', () => {
    if (scheme.description.eventId.some((rule) => 'unique' in rule)) return;
    const again = identify({ ...envelope, receivedAt: receivedAt + 1 }, scheme, payload);
    expect(again).toEqual(identify(envelope, scheme, payload));
    const other = providerRequest(slug, { id: 'evt_2', text: 'another' });
    const otherParsed = parseBody(other.envelope, scheme.body);
    const otherPayload = otherParsed === 'bad_body' ? undefined : otherParsed.payload;
    expect(identify(other.envelope, scheme, otherPayload).eventId).not.toEqual(again.eventId);
  });
});

describe.each(signsBody)('%s signs its body', (slug) => {
  const request = providerRequest(slug);

  it('[SIG-3] any one byte of it that is changed is refused', () => {
    const { envelope } = request;
    for (let at = 0; at < envelope.body.length; at++) {
      const body = Buffer.from(envelope.body);
      body[at] = (body[at] as number) ^ 1;
      expect(verdict(request, { ...envelope, body }).ok, `byte ${at}`).toBe(false);
    }
  });

  it('[SIG-3] a body that was cut, lengthened, spelled otherwise or left out is refused', () => {
    const { envelope } = request;
    const text = envelope.body.toString();
    const others = [
      text.slice(0, -1),
      `${text}\n`,
      `${text}\r\n`,
      ` ${text}`,
      `\uFEFF${text}`,
      text.replace(':', ': '),
      text.replaceAll('e', 'e\u0301'),
      '',
    ].filter((other) => other !== text);
    for (const other of others)
      expect(verdict(request, { ...envelope, body: Buffer.from(other) }).ok, JSON.stringify(other)).toBe(
        false,
      );
    const invalid = Buffer.concat([envelope.body, Buffer.from([0xff, 0xfe])]);
    expect(verdict(request, { ...envelope, body: invalid }).ok).toBe(false);
  });
});

describe.each(Object.keys(signedFields))('%s signs fields of its body', (slug) => {
  it('[SIG-3][SIG-13] each of them that is changed or taken out is refused', () => {
    const request = providerRequest(slug);
    const { envelope } = request;
    const payload = JSON.parse(envelope.body.toString());
    for (const field of signedFields[slug] as string[]) {
      const value = valueAt(payload, pathOf(field)) as string;
      for (const other of [
        `${value.slice(0, -1)}~`,
        `${value}x`,
        `x${value}`,
        '',
        undefined,
        null,
        {},
        [value],
      ]) {
        const body = Buffer.from(JSON.stringify(withValueAt(payload, pathOf(field), other)));
        expect(verdict(request, { ...envelope, body }).ok, `${field} ${other}`).toBe(false);
      }
    }
  });
});

/** The headers that decide, by provider: those whose absence is a refusal. */
const deciding = slugs.flatMap((slug) => {
  const { envelope, scheme } = providerRequest(slug);
  return envelope.rawHeaders
    .filter((_text, index) => index % 2 === 0)
    .filter(
      (name) =>
        scheme.check.secretHeaders.includes(name.toLowerCase()) ||
        /timestamp|paypal-(?!cert)|-time$/i.test(name),
    )
    .map((name) => ({ slug, name }));
});

describe.each(deciding)('$slug, header $name', ({ slug, name }) => {
  const request = providerRequest(slug);
  const { envelope } = request;
  const { check } = request.scheme.description;
  const isList = check.family === 'standard' || ('list' in check && check.list !== undefined);
  const value = envelope.rawHeaders[envelope.rawHeaders.indexOf(name) + 1] as string;
  const withHeader = (...values: string[]) => {
    const rawHeaders = envelope.rawHeaders.filter(
      (_text, index) => envelope.rawHeaders[index - (index % 2)] !== name,
    );
    return { ...envelope, rawHeaders: [...rawHeaders, ...values.flatMap((each) => [name, each])] };
  };

  it('[SIG-7] absent, empty or doubled is refused', () => {
    expect(verdict(request, withHeader(value))).toMatchObject(accepted);
    expect(verdict(request, withHeader())).toEqual({ ok: false, reason: 'missing_signature' });
    expect(verdict(request, withHeader('')).ok).toBe(false);
    expect(verdict(request, withHeader(value, value)).ok).toBe(false);
    expect(verdict(request, withHeader(value, 'junk')).ok).toBe(false);
    if (!isList) expect(verdict(request, withHeader(`${value}, ${value}`)).ok).toBe(false);
  });

  it('[SIG-4] cut, longer, of another alphabet, label or algorithm is refused', () => {
    const others = [
      value.slice(0, -1),
      value.slice(1),
      value.slice(0, 8),
      `${value}0`,
      `${value}==`,
      `${value}zz`,
      // White space around an item of a list is none of the item.
      ...(isList ? [] : [` ${value}`]),
      `x${value}`,
      value.replace(/[A-Za-z0-9](?=[^A-Za-z0-9]*$)/, '*'),
      value.replace(/[A-Za-z0-9](?=[^A-Za-z0-9]*$)/, 'é'),
      value.replace('sha256=', 'sha1='),
      value.replace('v1', 'v2'),
      value.replace('v0=', 'v1='),
      'null',
      'undefined',
      '0',
    ].filter((other) => other !== value);
    for (const other of others)
      expect(verdict(request, withHeader(other)).ok, JSON.stringify(other)).toBe(false);
  });
});

const keyed = slugs.filter(
  (slug) => providerRequest(slug).scheme.check.needsSecret || ['paypal', 'aws-sns'].includes(slug),
);

describe.each(keyed)('%s', (slug) => {
  const request = providerRequest(slug);
  const { scheme, envelope, secret, otherSecret } = request;

  it('[SIG-5][SIG-6] is refused under another secret, an empty one, none, and a key of another kind', () => {
    expect(verify(envelope, scheme, [otherSecret], options).ok).toBe(false);
    expect(verify(envelope, scheme, [''], options).ok).toBe(false);
    expect(verify(envelope, scheme, [], options).ok).toBe(false);
    const kinds = slugs.map((other) => providerRequest(other)).filter(({ secret: text }) => text !== secret);
    for (const other of kinds)
      expect(verify(envelope, scheme, [other.secret], options).ok, other.slug).toBe(false);
  });

  it('[SIG-10] one of several secrets is enough, and the verdict says which', () => {
    expect(verify(envelope, scheme, ['', otherSecret, secret], options)).toMatchObject({
      ok: true,
      secretIndex: 2,
    });
  });

  it('[SIG-5] takes its own secret, and refuses what cannot be one', () => {
    expect(scheme.check.secretProblem(secret)).toBeUndefined();
    for (const text of ['', 'whsec_', `${secret}\0`, `\uFEFF${secret}`, '\uFFFD'.repeat(20)])
      expect(scheme.check.secretProblem(text), JSON.stringify(text)).toBeDefined();
  });
});

const timed = slugs.filter(
  (slug) => providerRequest(slug).scheme.check.hasTimestamp && slug !== 'monday' && slug !== 'fusionauth',
);

describe.each(timed)('%s signs a time', (slug) => {
  const request = providerRequest(slug);
  const at = (milliseconds: number, toleranceSeconds = 300) =>
    verdict(request, { ...request.envelope, receivedAt: receivedAt + milliseconds }, { toleranceSeconds });

  it('[SIG-8] is taken on both ends of the window and refused beyond them', () => {
    expect(at(0)).toMatchObject({ ok: true, timestamp: receivedAt });
    expect(at(300_000)).toMatchObject(accepted);
    expect(at(-300_000)).toMatchObject(accepted);
    expect(at(301_000)).toEqual({ ok: false, reason: 'stale' });
    expect(at(-301_000)).toEqual({ ok: false, reason: 'stale' });
    expect(at(301_000, 301)).toMatchObject(accepted);
  });
});
