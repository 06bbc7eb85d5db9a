import { createPublicKey, createSecretKey, type KeyObject } from 'node:crypto';
import { decodeStrictly } from './compare.ts';

/** `html`: the secret is used with its HTML entities undone, as WooCommerce stores it. */
export type KeyEncoding = 'utf8' | 'hex' | 'base64' | 'html';

/** Fewer bytes than this can be guessed or were cut by accident (SIG-5). */
export const leastSecretBytes = 16;

/**
 * What is wrong with a shared secret, as an ending of the sentence "the secret in <place> ...", or undefined if it
 * is usable. The secret itself never appears in it.
 */
export function secretProblem(
  text: string,
  { keyEncoding }: { keyEncoding: KeyEncoding },
): string | undefined {
  const problem = textProblem(text);
  if (problem !== undefined) return problem;
  if (looksPublic(text)) return 'is a public key or certificate; this scheme needs the shared secret';
  const key = decodeKey(text, keyEncoding);
  if (key === undefined) return `is not valid ${keyEncoding}, which the scheme's key asks for`;
  if (key.length < leastSecretBytes) {
    return `has ${key.length} bytes; at least ${leastSecretBytes} are needed, make one with: openssl rand -hex 32`;
  }
  return undefined;
}

/** What is wrong with the text of any secret, whatever it is used for. */
export function textProblem(text: string): string | undefined {
  if (text === '') return 'is empty; put the secret that the sender shows into it';
  if (text === 'whsec_') return 'is only the prefix whsec_; the secret behind it is missing';
  if (text.startsWith('\uFEFF')) return 'begins with a byte order mark; save it as plain text without one';
  if (text.includes('\uFFFD')) return 'is not valid UTF-8; write it again as plain text';
  if (text.includes('\0')) return 'holds a NUL byte; write it again as plain text';
  return undefined;
}

function looksPublic(text: string): boolean {
  return /-----BEGIN|^(ssh-|whpk_)/.test(text);
}

/** What is wrong with a public key that a sender shows. */
export function publicKeyProblem(text: string, kind: PublicKeyKind): string | undefined {
  const problem = textProblem(text);
  if (problem !== undefined) return problem;
  if (/PRIVATE KEY|^whsk_/.test(text))
    return 'is a private key; only the sender may have it, this needs its public key';
  return publicKey(text, kind) === undefined ? `is no public key of ${kindNames[kind]}` : undefined;
}

export type PublicKeyKind = 'ed25519' | 'ec' | 'rsa';

const kindNames: Record<PublicKeyKind, string> = {
  ed25519: 'Ed25519: 64 hexadecimal characters, whpk_ with base64, or PEM',
  ec: 'an elliptic curve: base64 of its SPKI form, or PEM',
  rsa: 'RSA: base64 of its SPKI form, or PEM',
};

/** What stands before the 32 bytes of an Ed25519 key in its SPKI form (RFC 8410). */
const ed25519Spki = Buffer.from('302a300506032b6570032100', 'hex');

/**
 * A public key as senders show it: PEM (a certificate's too), base64 of SPKI, and for Ed25519 its 32 bytes in hexadecimal
 * (Discord) or behind `whpk_` in base64 (Standard Webhooks). Undefined where the text is none of the kind.
 */
export function publicKey(text: string, kind: PublicKeyKind): KeyObject | undefined {
  try {
    const key = createPublicKey(keyInput(text, kind));
    return key.asymmetricKeyType === kind ? key : undefined;
  } catch {
    return undefined;
  }
}

function keyInput(text: string, kind: PublicKeyKind) {
  if (text.includes('-----BEGIN')) return text;
  const raw = kind === 'ed25519' ? rawEd25519(text) : undefined;
  const der = raw === undefined ? decodeStrictly(text, 'base64') : Buffer.concat([ed25519Spki, raw]);
  return { key: der ?? Buffer.alloc(0), format: 'der', type: 'spki' } as const;
}

function rawEd25519(text: string): Buffer | undefined {
  const raw = text.startsWith('whpk_')
    ? decodeStrictly(text.slice('whpk_'.length), 'base64', { padded: false })
    : /^[0-9a-fA-F]{64}$/.test(text)
      ? Buffer.from(text, 'hex')
      : undefined;
  return raw?.length === 32 ? raw : undefined;
}

/** The key of a shared secret, or undefined where the text cannot be one (empty, or not in the encoding). */
export function signingKey(text: string, keyEncoding: KeyEncoding): KeyObject | undefined {
  const key = decodeKey(text, keyEncoding);
  return key === undefined || key.length === 0 ? undefined : createSecretKey(key);
}

/** Strict: Node's decoders pass over what they do not know, which would shorten a key in silence. */
function decodeKey(text: string, keyEncoding: KeyEncoding): Buffer | undefined {
  if (keyEncoding === 'utf8') return Buffer.from(text, 'utf8');
  if (keyEncoding === 'html') return Buffer.from(withoutEntities(text), 'utf8');
  return decodeStrictly(text, keyEncoding, { padded: false });
}

const entities: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  '#39': "'",
  '#039': "'",
};

function withoutEntities(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|apos|#0?39);/g, (_entity, name: string) => entities[name] as string);
}
