import { createSecretKey, type KeyObject } from 'node:crypto';
import type { Scheme } from './scheme.ts';

/** Fewer bytes than this can be guessed or were cut by accident (SIG-5). */
export const leastSecretBytes = 16;

/**
 * What is wrong with a secret, as an ending of the sentence "the secret in <place> ...", or undefined if it
 * is usable under `scheme`. The secret itself never appears in it.
 */
export function secretProblem(text: string, scheme: Pick<Scheme, 'keyEncoding'>): string | undefined {
  if (text === '') return 'is empty; put the secret that the sender shows into it';
  if (text === 'whsec_') return 'is only the prefix whsec_; the secret behind it is missing';
  if (text.startsWith('\uFEFF')) return 'begins with a byte order mark; save it as plain text without one';
  if (text.includes('\uFFFD')) return 'is not valid UTF-8; write it again as plain text';
  if (text.includes('\0')) return 'holds a NUL byte; write it again as plain text';
  if (/-----BEGIN|^(ssh-|whpk_)/.test(text))
    return 'is a public key or certificate; this scheme needs the shared secret';
  const key = decodeKey(text, scheme.keyEncoding);
  if (key === undefined) return `is not valid ${scheme.keyEncoding}, which the scheme's key asks for`;
  if (key.length < leastSecretBytes) {
    return `has ${key.length} bytes; at least ${leastSecretBytes} are needed, make one with: openssl rand -hex 32`;
  }
  return undefined;
}

/** The key of a secret, or undefined where the text cannot be one (empty, or not in the encoding). */
export function signingKey(text: string, keyEncoding: Scheme['keyEncoding']): KeyObject | undefined {
  const key = decodeKey(text, keyEncoding);
  return key === undefined || key.length === 0 ? undefined : createSecretKey(key);
}

/** Strict: Node's decoders pass over what they do not know, which would shorten a key in silence. */
function decodeKey(text: string, keyEncoding: Scheme['keyEncoding']): Buffer | undefined {
  if (keyEncoding === 'utf8') return Buffer.from(text, 'utf8');
  if (keyEncoding === 'hex') return /^([0-9a-fA-F]{2})*$/.test(text) ? Buffer.from(text, 'hex') : undefined;
  const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;
  return base64.test(text) ? Buffer.from(text, 'base64') : undefined;
}
