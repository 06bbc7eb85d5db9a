import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { Envelope } from '../core/envelope.ts';
import { soleHeader } from '../core/headers.ts';
import type { VerifyFailure } from '../core/outcome.ts';
import { isEventId } from '../core/text.ts';
import type { Scheme } from './scheme.ts';
import { signingKey } from './secrets.ts';

export type Verdict =
  | { readonly ok: true; readonly timestamp?: number; readonly secretIndex: number }
  | { readonly ok: false; readonly reason: VerifyFailure };

/** Bounds the work that one header can cause (SIG-7). */
const mostSignatures = 20;

/**
 * Whether one of `secrets` signed this envelope under `scheme`. The window of `toleranceSeconds` lies around
 * `envelope.receivedAt`, both ways, inclusive. `timestamp` in the verdict is milliseconds since 1970.
 * Never throws, whatever the bytes or headers (SIG-2); the sender chooses neither algorithm nor label nor key (SIG-6).
 */
export function verify(
  envelope: Envelope,
  scheme: Scheme,
  secrets: readonly (string | KeyObject)[],
  { toleranceSeconds }: { toleranceSeconds: number },
): Verdict {
  const header = soleHeader(envelope.rawHeaders, scheme.header);
  if (header === 'absent' || (typeof header === 'object' && header.value === '')) return missing;
  if (header === 'repeated') return bad;
  const items = scheme.list === undefined ? undefined : header.value.split(scheme.list);
  if (items !== undefined && items.length > mostSignatures) return bad;
  const claimed = items === undefined ? claimOf(header.value, scheme, []) : claimsOf(items, scheme);
  if (claimed.length === 0) return bad;

  const signed = signedMetadata(envelope, scheme, items);
  if (typeof signed === 'string') return signed === 'missing' ? missing : bad;
  const secretIndex = indexOfSigner(secrets, claimed, { scheme, body: envelope.body, signed });
  if (secretIndex < 0) return bad;

  if (scheme.timestamp === undefined) return { ok: true, secretIndex };
  const { ageUnits, perSecond, timestamp } = ageOf(
    signed.timestamp,
    scheme.timestamp.unit,
    envelope.receivedAt,
  );
  // Written so that a time that is no number fails.
  if (!(Math.abs(ageUnits) <= toleranceSeconds * perSecond)) return { ok: false, reason: 'stale' };
  return { ok: true, secretIndex, timestamp };
}

const missing: Verdict = { ok: false, reason: 'missing_signature' };
const bad: Verdict = { ok: false, reason: 'bad_signature' };

/** The signatures under the scheme's own label; other labels are passed over. */
function claimsOf(items: readonly string[], scheme: Scheme): string[] {
  const claimed: string[] = [];
  for (const item of items) {
    const value = scheme.field === undefined ? trimBlanks(item) : fieldOf(item, scheme.field);
    if (value !== undefined) claimOf(value, scheme, claimed);
  }
  return claimed;
}

/**
 * Adds the claimed signature if it has exactly the length of the encoding (SIG-4). Its alphabet needs no look of its
 * own: it is compared as text, so only the one canonical spelling of the right signature is equal. Node's decoders are
 * lenient, so nothing is decoded. Hexadecimal digits may come in either case.
 */
function claimOf(value: string, scheme: Scheme, claimed: string[]): string[] {
  if (!value.startsWith(scheme.prefix)) return claimed;
  const text = scheme.prefix === '' ? value : value.slice(scheme.prefix.length);
  if (text.length === textLengths[scheme.encoding][scheme.hmac]) {
    claimed.push(scheme.encoding === 'hex' ? text.toLowerCase() : text);
  }
  return claimed;
}

const textLengths = {
  hex: { sha1: 40, sha256: 64, sha512: 128 },
  base64: { sha1: 28, sha256: 44, sha512: 88 },
};

/** Space and tab are the only white space of a header's value. */
function trimBlanks(text: string): string {
  return text.replace(/^[ \t]+|[ \t]+$/g, '');
}

function fieldOf(item: string, field: string): string | undefined {
  const trimmed = trimBlanks(item);
  return trimmed.startsWith(`${field}=`) ? trimmed.slice(field.length + 1) : undefined;
}

type SignedMetadata = { timestamp: string; id: string };

/** Timestamp and id as the exact texts that were signed, or why they cannot be had. */
function signedMetadata(
  envelope: Envelope,
  scheme: Scheme,
  items: readonly string[] | undefined,
): SignedMetadata | 'missing' | 'bad' {
  let timestamp = '';
  let id = '';
  if (scheme.timestamp !== undefined) {
    const found =
      'header' in scheme.timestamp
        ? soleHeader(envelope.rawHeaders, scheme.timestamp.header)
        : soleField(items ?? [], scheme.timestamp.field);
    if (typeof found === 'string') return found === 'absent' ? 'missing' : 'bad';
    if (!isTimestamp(found.value, scheme.timestamp.unit)) return 'bad';
    timestamp = found.value;
  }
  if (scheme.signsId && 'header' in scheme.eventId) {
    const found = soleHeader(envelope.rawHeaders, scheme.eventId.header);
    if (typeof found === 'string') return found === 'absent' ? 'missing' : 'bad';
    if (!isEventId(found.value) || scheme.idEnds.some((sign) => found.value.includes(sign))) return 'bad';
    id = found.value;
  }
  return timestamp === '' && id === '' ? noMetadata : { timestamp, id };
}

const noMetadata: SignedMetadata = { timestamp: '', id: '' };

function soleField(items: readonly string[], field: string): { value: string } | 'absent' | 'repeated' {
  const values = items.map((item) => fieldOf(item, field)).filter((value) => value !== undefined);
  if (values.length > 1) return 'repeated';
  return values[0] === undefined ? 'absent' : { value: values[0] };
}

/** Digits only, in a plausible length: 10 for seconds, 13 for milliseconds (SIG-8). */
function isTimestamp(text: string, unit: 's' | 'ms'): boolean {
  return unit === 's' ? /^[0-9]{10}$/.test(text) : /^[0-9]{13}$/.test(text);
}

/** A window in seconds is judged in whole seconds, as the senders' own libraries do. */
function ageOf(text: string, unit: 's' | 'ms', receivedAt: number) {
  const value = Number(text);
  return unit === 's'
    ? { ageUnits: Math.floor(receivedAt / 1000) - value, perSecond: 1, timestamp: value * 1000 }
    : { ageUnits: receivedAt - value, perSecond: 1000, timestamp: value };
}

/** The first secret that one of the claimed signatures was made with, or -1. */
function indexOfSigner(
  secrets: readonly (string | KeyObject)[],
  claimed: readonly string[],
  { scheme, body, signed }: { scheme: Scheme; body: Buffer; signed: SignedMetadata },
): number {
  for (let index = 0; index < secrets.length; index++) {
    const secret = secrets[index] as string | KeyObject;
    const key = typeof secret === 'string' ? signingKey(secret, scheme.keyEncoding) : secret;
    if (key === undefined || key.symmetricKeySize === 0) continue;
    const expected = signatureText(key, body, scheme, signed);
    for (const text of claimed) if (equalText(expected, text)) return index;
  }
  return -1;
}

/** The signature of `body` under `scheme`, as text in the scheme's encoding. Raw bytes go in, never a string (SIG-3). */
export function signatureText(key: KeyObject, body: Buffer, scheme: Scheme, signed: SignedMetadata): string {
  const hmac = createHmac(scheme.hmac, key);
  for (const part of scheme.parts) {
    if (part === 'body') hmac.update(body);
    else if (part === 'timestamp') hmac.update(signed.timestamp);
    else if (part === 'id') hmac.update(signed.id);
    else hmac.update(part.text);
  }
  return hmac.digest(scheme.encoding);
}

/** Reused, since the longest text is known (SHA-512 in hex) and comparing never waits. */
const left = Buffer.alloc(128);
const right = Buffer.alloc(128);
/** By length of the text. */
const views: (readonly [Uint8Array, Uint8Array] | undefined)[] = new Array(129).fill(undefined);
const encoder = new TextEncoder();

/** Constant-time comparison of two texts of one fixed, public length. `expected` is ASCII; `claimed` may be anything. */
function equalText(expected: string, claimed: string): boolean {
  if (expected.length === 0 || expected.length !== claimed.length) return false;
  let pair = views[expected.length];
  if (pair === undefined) {
    pair = [left.subarray(0, expected.length), right.subarray(0, expected.length)];
    views[expected.length] = pair;
  }
  left.write(expected, 0, 'latin1');
  // UTF-8, which no other character shares with ASCII; latin1 would cut characters down to one byte.
  encoder.encodeInto(claimed, right);
  return timingSafeEqual(pair[0], pair[1]);
}
