import { createHmac, type KeyObject, sign as signBytes, verify as verifyBytes } from 'node:crypto';
import type { Envelope } from '../core/envelope.ts';
import { soleHeader } from '../core/headers.ts';
import { isEventId } from '../core/text.ts';
import {
  bad,
  type Check,
  type CheckContext,
  type Draft,
  missing,
  type SchemeOptions,
  type Signer,
  type Verdict,
  withinWindow,
} from './check.ts';
import { decodeStrictly, equalText } from './compare.ts';
import { publicKey, publicKeyProblem, secretProblem, signingKey } from './secrets.ts';
import { comparableTime, parseTimestamp } from './timestamp.ts';

/**
 * The family `standard`: Standard Webhooks (https://github.com/standard-webhooks/standard-webhooks, spec), which Svix and
 * who sends through it use too. The signed text is `id.timestamp.body`; the header lists `v1,` with the base64 of
 * HMAC-SHA256 and `v1a,` with that of Ed25519, separated by spaces. Which of the two is looked for follows from our
 * key, never from the request.
 */
export type StandardCheck = {
  readonly family: 'standard';
  /** What the names of the three headers begin with; the first one whose signature is there is used. */
  readonly headers: readonly ('webhook' | 'svix')[];
  /** How a secret without the prefix `whsec_` is read; with it, what follows is base64. */
  readonly key?: 'text' | 'base64';
};

const mostSignatures = 20;

export function standardCheck({ headers, key = 'text' }: StandardCheck, options: SchemeOptions): Check {
  const encoding = (options.key ?? key) === 'base64' ? 'base64' : 'utf8';
  return {
    needsSecret: true,
    readsBody: false,
    secretHeaders: headers.map((prefix) => `${prefix}-signature`),
    hasTimestamp: true,
    signsId: true,
    secretProblem: (text) =>
      isPublic(text) ? publicKeyProblem(text, 'ed25519') : sharedProblem(text, encoding),
    keyOf: (text) => (isPublic(text) ? publicKey(text, 'ed25519') : sharedKey(text, encoding)),
    judge: (envelope, keys, context) => judge(headers, envelope, keys, context),
    sign: (draft, signer) => sign(headers[0] ?? 'webhook', draft, signer, encoding),
  };
}

function isPublic(text: string): boolean {
  return text.startsWith('whpk_') || text.startsWith('whsk_') || text.includes('-----BEGIN');
}

const prefix = 'whsec_';

function sharedProblem(text: string, encoding: 'utf8' | 'base64'): string | undefined {
  if (!text.startsWith(prefix) || text === prefix) return secretProblem(text, { keyEncoding: encoding });
  return secretProblem(text.slice(prefix.length), { keyEncoding: 'base64' });
}

function sharedKey(text: string, encoding: 'utf8' | 'base64'): KeyObject | undefined {
  return text.startsWith(prefix)
    ? signingKey(text.slice(prefix.length), 'base64')
    : signingKey(text, encoding);
}

function judge(
  prefixes: readonly string[],
  envelope: Envelope,
  keys: readonly KeyObject[],
  { toleranceSeconds }: CheckContext,
): Verdict {
  const { rawHeaders } = envelope;
  const set = prefixes.find((name) => soleHeader(rawHeaders, `${name}-signature`) !== 'absent');
  if (set === undefined) return missing;
  const [signature, id, timestamp] = ['signature', 'id', 'timestamp'].map((name) =>
    soleHeader(rawHeaders, `${set}-${name}`),
  );
  if (signature === 'repeated' || id === 'repeated' || timestamp === 'repeated') return bad;
  if (typeof signature !== 'object' || typeof id !== 'object' || typeof timestamp !== 'object')
    return missing;
  if (signature.value === '') return missing;
  // With a dot in the id, id and timestamp could be shifted into each other.
  if (!isEventId(id.value) || id.value.includes('.')) return bad;
  if (!agree(prefixes, rawHeaders, id.value)) return bad;
  const time = parseTimestamp(timestamp.value, 's');
  if (time === undefined) return bad;
  const items = signature.value.split(' ');
  if (items.length > mostSignatures) return bad;
  const signed = `${id.value}.${timestamp.value}.`;
  const secretIndex = keys.findIndex((key) => hasSigned(key, items, { signed, body: envelope.body }));
  if (secretIndex < 0) return bad;
  return withinWindow(time, secretIndex, {
    receivedAt: comparableTime(envelope.receivedAt, 's'),
    toleranceSeconds,
  });
}

/** Senders that send both sets of headers send the same id in both; the id of the event is the one that was signed. */
function agree(prefixes: readonly string[], rawHeaders: readonly string[], id: string): boolean {
  return prefixes.every((name) => {
    const other = soleHeader(rawHeaders, `${name}-id`);
    return other === 'absent' || (typeof other === 'object' && other.value === id);
  });
}

function hasSigned(
  key: KeyObject,
  items: readonly string[],
  { signed, body }: { signed: string; body: Buffer },
): boolean {
  if (key.type === 'secret') {
    if (key.symmetricKeySize === 0) return false;
    const expected = createHmac('sha256', key).update(signed).update(body).digest('base64');
    return items.some((item) => item.startsWith('v1,') && equalText(expected, item.slice('v1,'.length)));
  }
  if (key.asymmetricKeyType !== 'ed25519') return false;
  const message = Buffer.concat([Buffer.from(signed), body]);
  return items.some((item) => {
    const claimed = item.startsWith('v1a,') ? decodeStrictly(item.slice('v1a,'.length), 'base64') : undefined;
    return claimed?.length === 64 && verifyBytes(null, message, key, claimed);
  });
}

function sign(set: string, draft: Draft, { key, id, timestamp }: Signer, encoding: 'utf8' | 'base64'): Draft {
  const secret = typeof key === 'string' ? sharedKey(key, encoding) : key;
  if (secret === undefined) throw new Error('the secret cannot be used as a key of this scheme');
  const time = String(Math.floor(timestamp / 1000));
  const signed = `${id}.${time}.`;
  const signature =
    secret.type === 'secret'
      ? `v1,${createHmac('sha256', secret).update(signed).update(draft.body).digest('base64')}`
      : `v1a,${signBytes(null, Buffer.concat([Buffer.from(signed), draft.body]), secret).toString('base64')}`;
  return {
    ...draft,
    headers: {
      ...draft.headers,
      [`${set}-id`]: id,
      [`${set}-timestamp`]: time,
      [`${set}-signature`]: signature,
    },
  };
}
