import { timingSafeEqual } from 'node:crypto';

/** Reused, since the longest text is known (SHA-512 in hex) and comparing never waits. */
const left = Buffer.alloc(128);
const right = Buffer.alloc(128);
/** By length of the text. */
const views: (readonly [Uint8Array, Uint8Array] | undefined)[] = new Array(129).fill(undefined);
const encoder = new TextEncoder();

/** Constant-time comparison of two texts of one fixed, public length. `expected` is ASCII; `claimed` may be anything. */
export function equalText(expected: string, claimed: string): boolean {
  if (expected.length === 0 || expected.length > 128 || expected.length !== claimed.length) return false;
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

/**
 * Strict: Node's decoders pass over what they do not know, which would make two texts of one value. Hexadecimal digits in
 * either case; base64 of the standard alphabet, with its padding where `padded`.
 */
export function decodeStrictly(
  text: string,
  encoding: 'hex' | 'base64',
  { padded = true }: { padded?: boolean } = {},
): Buffer | undefined {
  if (encoding === 'hex') return /^([0-9a-fA-F]{2})*$/.test(text) ? Buffer.from(text, 'hex') : undefined;
  const alphabet = padded
    ? /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
    : /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;
  if (!alphabet.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  // The last character may carry bits that are thrown away: one signature would have several spellings.
  return !padded || bytes.toString('base64') === text ? bytes : undefined;
}
