import type { KeyObject } from 'node:crypto';
import type { Envelope } from '../core/envelope.ts';
import { soleHeader } from '../core/headers.ts';
import { bad, type Check, type Draft, missing, type Signer, type Verdict } from './check.ts';
import { decodeStrictly } from './compare.ts';
import { signingKey, textProblem } from './secrets.ts';
import { isToken } from './token.ts';

/** The family `basic`: HTTP basic authentication (RFC 7617). The secret's file holds `user:password`. */
export type BasicCheck = { readonly family: 'basic' };

const leastPasswordBytes = 16;

export const basicCheck: Check = {
  needsSecret: true,
  readsBody: false,
  secretHeaders: ['authorization'],
  hasTimestamp: false,
  signsId: false,
  secretProblem: basicProblem,
  keyOf: (text) => (text.includes(':') ? signingKey(text, 'utf8') : undefined),
  judge,
  sign,
};

function basicProblem(text: string): string | undefined {
  const problem = textProblem(text);
  if (problem !== undefined) return problem;
  // At the first colon: a password may hold others, a user name none.
  const at = text.indexOf(':');
  if (at < 0) return 'has no colon; write it as user:password';
  const bytes = Buffer.byteLength(text.slice(at + 1));
  if (bytes >= leastPasswordBytes) return undefined;
  return `has a password of ${bytes} bytes; at least ${leastPasswordBytes} are needed, make one with: openssl rand -hex 32`;
}

function judge(envelope: Envelope, keys: readonly KeyObject[]): Verdict {
  const header = soleHeader(envelope.rawHeaders, 'authorization');
  if (header === 'absent' || (typeof header === 'object' && header.value === '')) return missing;
  if (header === 'repeated') return bad;
  const encoded = /^basic +([^ ]+)$/i.exec(header.value)?.[1];
  const claimed = encoded === undefined ? undefined : decodeStrictly(encoded, 'base64', { padded: false });
  if (claimed === undefined) return bad;
  const secretIndex = keys.findIndex((key) => isToken(key, claimed));
  return secretIndex < 0 ? bad : { ok: true, secretIndex };
}

function sign(draft: Draft, { key }: Signer): Draft {
  const pair = typeof key === 'string' ? Buffer.from(key) : key.export();
  return { ...draft, headers: { ...draft.headers, authorization: `Basic ${pair.toString('base64')}` } };
}
