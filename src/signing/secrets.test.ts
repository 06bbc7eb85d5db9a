import { describe, expect, it } from 'vitest';
import { compileScheme } from './index.ts';
import { secretProblem, signingKey } from './secrets.ts';

type Encoding = 'utf8' | 'hex' | 'base64';
const problemOf = (text: string, keyEncoding: Encoding = 'utf8') => secretProblem(text, { keyEncoding });
const pem = (kind: string) =>
  `-----BEGIN ${kind}-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END ${kind}-----`;

const refused: [string, string, Encoding, string][] = [
  ['an empty text', '', 'utf8', 'is empty'],
  ['an empty text in hex', '', 'hex', 'is empty'],
  ['an empty text in base64', '', 'base64', 'is empty'],
  ['whsec_ alone', 'whsec_', 'utf8', 'the secret behind it is missing'],
  ['whsec_ alone in base64', 'whsec_', 'base64', 'the secret behind it is missing'],
  ['a trailing NUL', 'a secret of more than 16 bytes\0', 'utf8', 'holds a NUL byte'],
  ['a NUL inside', 'a secret of\0more than 16 bytes', 'utf8', 'holds a NUL byte'],
  ['a public key', pem('PUBLIC KEY'), 'utf8', 'is a public key or certificate'],
  ['a certificate', pem('CERTIFICATE'), 'utf8', 'is a public key or certificate'],
  ['a certificate in base64', pem('CERTIFICATE'), 'base64', 'is a public key or certificate'],
  ['an SSH key', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMq', 'utf8', 'is a public key or certificate'],
  [
    'a public key of Standard Webhooks',
    'whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=',
    'utf8',
    'is a public key',
  ],
  ['15 bytes', 'a'.repeat(15), 'utf8', 'has 15 bytes; at least 16 are needed'],
  ['15 bytes in hex', 'ab'.repeat(15), 'hex', 'has 15 bytes; at least 16 are needed'],
  ['15 bytes in base64', Buffer.alloc(15, 1).toString('base64'), 'base64', 'has 15 bytes'],
  ['one byte', 'a', 'utf8', 'has 1 bytes'],
  ['text where hex is due', 'open sesame and quick', 'hex', 'is not valid hex'],
  ['text where base64 is due', 'open, sesame! and? quick.', 'base64', 'is not valid base64'],
  [
    'a whsec_ text where base64 is due',
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    'base64',
    'is not valid base64',
  ],
];

describe('secretProblem', () => {
  it.each(refused)('[SIG-5] refuses %s and says why', (_, text, keyEncoding, message) => {
    expect(problemOf(text, keyEncoding)).toContain(message);
  });

  it.each(refused)('[SIG-5][SIG-12] never repeats %s in its message', (_, text, keyEncoding) => {
    const problem = problemOf(text, keyEncoding) ?? '';
    for (let at = 0; at + 8 <= text.length; at++) {
      const part = text.slice(at, at + 8);
      // The prefix that the message explains is no secret.
      if (!'is only the prefix whsec_; '.includes(part)) expect(problem).not.toContain(part);
    }
  });

  it('[SIG-5] counts bytes, and 16 are enough in every encoding', () => {
    expect(problemOf('a'.repeat(16))).toBeUndefined();
    expect(problemOf('é'.repeat(8))).toBeUndefined();
    expect(problemOf('é'.repeat(7))).toContain('has 14 bytes');
    expect(problemOf('0123456789abcdefABCDEF0123456789', 'hex')).toBeUndefined();
    expect(problemOf(Buffer.alloc(16, 0xfb).toString('base64'), 'base64')).toBeUndefined();
    expect(problemOf(Buffer.alloc(16, 0xfb).toString('base64').replace(/=+$/, ''), 'base64')).toBeUndefined();
  });

  it('[SIG-5] takes a whsec_ text as it stands where the key is plain text', () => {
    expect(problemOf('whsec_test_secret_of_stripe')).toBeUndefined();
    const key = signingKey('whsec_test_secret_of_stripe', 'utf8');
    expect(key?.export().toString()).toBe('whsec_test_secret_of_stripe');
  });

  it('[SIG-5] takes a compiled scheme, which says how the key is written', () => {
    const scheme = compileScheme({
      hmac: 'sha256',
      key: 'hex',
      header: 'X',
      encoding: 'hex',
      signed: '{body}',
      eventId: { digest: 'body' },
    });
    expect(scheme.check.secretProblem('g'.repeat(64))).toContain('is not valid hex');
    expect(scheme.check.secretProblem('a'.repeat(64))).toBeUndefined();
  });
});

describe('a key in hex or base64', () => {
  const hex = 'ab'.repeat(32);
  const base64 = Buffer.alloc(32, 0xfb).toString('base64');

  it('[SIG-5] is decoded whole', () => {
    expect(signingKey(hex, 'hex')?.export()).toEqual(Buffer.alloc(32, 0xab));
    expect(signingKey(hex.toUpperCase(), 'hex')?.export()).toEqual(Buffer.alloc(32, 0xab));
    expect(signingKey(base64, 'base64')?.export()).toEqual(Buffer.alloc(32, 0xfb));
  });

  it('[SIG-5] is refused rather than shortened where a lenient decoder would pass over characters', () => {
    const badHex = [`${hex}a`, `${hex} `, `${hex}\n`, `0x${hex}`, `${hex.slice(2)}g0`, ` ${hex}`, `${hex}é`];
    for (const text of badHex) {
      expect(problemOf(text, 'hex'), JSON.stringify(text)).toBe(
        "is not valid hex, which the scheme's key asks for",
      );
      expect(signingKey(text, 'hex')).toBeUndefined();
    }
    const urlSafe = base64.replaceAll('+', '-').replaceAll('/', '_');
    const badBase64 = [
      urlSafe,
      `${base64}=`,
      `=${base64}`,
      `${base64}\n`,
      ` ${base64}`,
      `${base64}AAAA`,
      'A',
      '==',
    ];
    for (const text of badBase64) {
      expect(problemOf(text, 'base64'), JSON.stringify(text)).toBe(
        "is not valid base64, which the scheme's key asks for",
      );
      expect(signingKey(text, 'base64')).toBeUndefined();
    }
  });

  it('[SIG-5] is no key when it is empty', () => {
    for (const keyEncoding of ['utf8', 'hex', 'base64'] as const)
      expect(signingKey('', keyEncoding)).toBeUndefined();
  });
});

it('[SIG-5] a byte order mark and bytes that were no UTF-8 are named, not taken into the key', () => {
  const scheme = { keyEncoding: 'utf8' } as const;
  expect(secretProblem('\ufeffa-secret-of-the-tests', scheme)).toMatch(/byte order mark/);
  expect(secretProblem('a-secret-of-the-tests\ufffd', scheme)).toMatch(/UTF-8/);
});
