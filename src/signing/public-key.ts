import { type KeyObject, sign as signBytes, verify as verifyBytes } from 'node:crypto';
import type { Envelope } from '../core/envelope.ts';
import { soleHeader } from '../core/headers.ts';
import {
  bad,
  type Check,
  type CheckContext,
  type Draft,
  missing,
  type Signer,
  type Verdict,
  withinWindow,
} from './check.ts';
import { decodeStrictly } from './compare.ts';
import { publicKey, publicKeyProblem } from './secrets.ts';
import { type PartValues, type SignedPart, signedBytes, signedParts } from './template.ts';
import { comparableTime, parseTimestamp, type TimeUnit, timestampText } from './timestamp.ts';

/**
 * The families `ed25519` and `ecdsa` (SHA-256, DER): the sender signs a template with a private key that only it has; our
 * secret's file holds its public key.
 */
export type PublicKeyCheck = {
  readonly family: 'ed25519' | 'ecdsa';
  readonly header: string;
  readonly encoding: 'hex' | 'base64';
  /** Of {timestamp} and {body}. */
  readonly signed: string;
  readonly timestamp?: { readonly header: string; readonly unit: TimeUnit } | undefined;
};

type Compiled = PublicKeyCheck & { readonly parts: readonly SignedPart[] };

export function publicKeyCheck(check: PublicKeyCheck): Check {
  const { timestamp } = check;
  const scheme: Compiled = {
    ...check,
    header: check.header.toLowerCase(),
    timestamp: timestamp && { ...timestamp, header: timestamp.header.toLowerCase() },
    parts: signedParts(check.signed),
  };
  const kind = check.family === 'ecdsa' ? 'ec' : 'ed25519';
  return {
    needsSecret: true,
    readsBody: false,
    secretHeaders: [scheme.header],
    hasTimestamp: timestamp !== undefined,
    signsId: false,
    secretProblem: (text) => publicKeyProblem(text, kind),
    keyOf: (text) => publicKey(text, kind),
    judge: (envelope, keys, context) => judge(scheme, envelope, keys, context),
    sign: (draft, signer) => sign(scheme, draft, signer),
  };
}

function judge(
  scheme: Compiled,
  envelope: Envelope,
  keys: readonly KeyObject[],
  { toleranceSeconds }: CheckContext,
): Verdict {
  const header = soleHeader(envelope.rawHeaders, scheme.header);
  if (header === 'absent' || (typeof header === 'object' && header.value === '')) return missing;
  if (header === 'repeated') return bad;
  const claimed = decodeStrictly(header.value, scheme.encoding);
  if (claimed === undefined || !isPlausible(scheme, claimed.length)) return bad;
  const rule = scheme.timestamp;
  const stamp = rule === undefined ? { value: '' } : soleHeader(envelope.rawHeaders, rule.header);
  if (stamp === 'absent') return missing;
  if (stamp === 'repeated') return bad;
  const timestamp = rule === undefined ? undefined : parseTimestamp(stamp.value, rule.unit);
  if (rule !== undefined && timestamp === undefined) return bad;
  const message = signedBytes(scheme.parts, valuesOf(stamp.value, envelope.body));
  const secretIndex = keys.findIndex((key) => isSigner(scheme, key, message, claimed));
  if (secretIndex < 0) return bad;
  return withinWindow(timestamp, secretIndex, {
    receivedAt: comparableTime(envelope.receivedAt, rule?.unit ?? 's'),
    toleranceSeconds,
  });
}

/** Ed25519 has 64 bytes; two numbers of P-256 in DER have 8 to 72. */
function isPlausible(scheme: Compiled, bytes: number): boolean {
  return scheme.family === 'ed25519' ? bytes === 64 : bytes >= 8 && bytes <= 72;
}

function isSigner(scheme: Compiled, key: KeyObject, message: Buffer, claimed: Buffer): boolean {
  if (scheme.family === 'ed25519')
    return key.asymmetricKeyType === 'ed25519' && verifyBytes(null, message, key, claimed);
  return key.asymmetricKeyType === 'ec' && verifyBytes('sha256', message, key, claimed);
}

function valuesOf(timestamp: string, body: Buffer): PartValues {
  return { timestamp, body, id: '', url: '', uri: '', method: '', secret: '' };
}

function sign(scheme: Compiled, draft: Draft, { key, timestamp }: Signer): Draft {
  if (typeof key === 'string') throw new Error('this scheme is signed with a private key');
  const time = scheme.timestamp === undefined ? '' : timestampText(timestamp, scheme.timestamp.unit);
  const message = signedBytes(scheme.parts, valuesOf(time, draft.body));
  const signature = signBytes(scheme.family === 'ecdsa' ? 'sha256' : null, message, key);
  const headers = { ...draft.headers, [scheme.header]: signature.toString(scheme.encoding) };
  if (scheme.timestamp !== undefined) headers[scheme.timestamp.header] = time;
  return { ...draft, headers };
}
