import { createHmac, type KeyObject } from 'node:crypto';
import { isEventId } from '../core/text.ts';
import { secretProblem, signingKey } from './secrets.ts';

/** Spelled as the specification spells them. */
export type StandardHeaders = {
  'webhook-id': string;
  'webhook-timestamp': string;
  'webhook-signature': string;
};

/**
 * The headers of a Standard Webhooks v1 delivery (https://github.com/standard-webhooks/standard-webhooks, spec): the
 * signature is `v1,` and the base64 of HMAC-SHA256 over the bytes of `id.timestamp.body`. With two secrets, while one
 * replaces the other, there are two, separated by a space; a receiver accepts any. Throws where a secret is unusable,
 * or the id holds a dot, with which another id and timestamp could have the same signature.
 */
export function signStandard(message: {
  id: string;
  timestampSeconds: number;
  body: Buffer;
  secrets: readonly string[];
}): StandardHeaders {
  const { id, timestampSeconds, body, secrets } = message;
  if (!isEventId(id) || id.includes('.')) throw new Error('the id of a signed message has other characters');
  if (!Number.isSafeInteger(timestampSeconds) || timestampSeconds < 0)
    throw new Error('the timestamp of a signed message is whole seconds since 1970');
  if (secrets.length < 1 || secrets.length > 2)
    throw new Error('a message is signed with one or two secrets');
  const signed = `${id}.${timestampSeconds}.`;
  const signatures = secrets.map(standardKey).map((key) => `v1,${macOf(key, signed, body)}`);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': signatures.join(' '),
  };
}

/** As `secretProblem`, for a secret of Standard Webhooks: behind `whsec_` it is base64, otherwise its text is the key. */
export function standardSecretProblem(text: string): string | undefined {
  if (text === '') return 'is empty; make one with: openssl rand -hex 32';
  if (!text.startsWith(prefix) || text === prefix) return secretProblem(text, { keyEncoding: 'utf8' });
  return secretProblem(text.slice(prefix.length), { keyEncoding: 'base64' });
}

/** The `whsec_` form of a usable secret: the one that every library of a receiver takes for the same key. */
export function standardSecret(text: string): string {
  return text.startsWith(prefix) ? text : `${prefix}${Buffer.from(text, 'utf8').toString('base64')}`;
}

const prefix = 'whsec_';

function standardKey(text: string): KeyObject {
  const problem = standardSecretProblem(text);
  const key = signingKey(standardSecret(text).slice(prefix.length), 'base64');
  if (problem !== undefined || key === undefined) throw new Error(`the secret ${problem}`);
  return key;
}

function macOf(key: KeyObject, signed: string, body: Buffer): string {
  return createHmac('sha256', key).update(signed).update(body).digest('base64');
}
