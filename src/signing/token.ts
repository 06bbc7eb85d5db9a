import { createHash, type KeyObject, timingSafeEqual } from 'node:crypto';
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
} from './check.ts';
import { formValue } from './form-body.ts';
import { valuesAt, withValueAt } from './paths.ts';
import { signingKey, textProblem } from './secrets.ts';

/**
 * The family `token`: the sender repeats a text that both sides know, in a header, the query or the body. Nothing is
 * signed: who sees one request can send others.
 */
export type TokenCheck = {
  readonly family: 'token';
  readonly from: { readonly header: string } | { readonly query: string } | { readonly json: string };
  /** Text before the token in the header, such as `Bearer `; its letters may come in either case. */
  readonly prefix?: string | undefined;
  /** The shortest token that is taken, where the sender does not allow 16 characters. */
  readonly leastLength?: number;
};

export function tokenCheck(check: TokenCheck): Check {
  const { from, prefix = '' } = check;
  return {
    needsSecret: true,
    readsBody: 'json' in from,
    secretHeaders: 'header' in from ? [from.header.toLowerCase()] : [],
    hasTimestamp: false,
    signsId: false,
    secretProblem: (text) => tokenProblem(text, check.leastLength ?? 16),
    keyOf: (text) => signingKey(text, 'utf8'),
    judge: (envelope, keys, context) => judge(claimOf(envelope, context, { from, prefix }), keys),
    sign: (draft, signer) => sign(draft, signer, { from, prefix }),
  };
}

function tokenProblem(text: string, least: number): string | undefined {
  const problem = textProblem(text);
  if (problem !== undefined) return problem;
  if (/[\r\n]/.test(text)) return 'has more than one line; a token has one';
  const bytes = Buffer.byteLength(text);
  if (bytes >= least) return undefined;
  return `has ${bytes} bytes; at least ${least} are needed, make one with: openssl rand -hex 32`;
}

type Place = { readonly from: TokenCheck['from']; readonly prefix: string };
/** The claimed tokens: several only in a body with items, which then must all be right. */
type Claim = readonly string[] | 'absent' | 'bad';

function claimOf(envelope: Envelope, context: CheckContext, { from, prefix }: Place): Claim {
  if ('json' in from) return claimInBody(context.payload(), from.json);
  const found =
    'header' in from
      ? soleHeader(envelope.rawHeaders, from.header.toLowerCase())
      : formValue(envelope.query, from.query);
  if (found === 'absent' || (typeof found === 'object' && found.value === '')) return 'absent';
  if (found === 'repeated') return 'bad';
  if (found.value.slice(0, prefix.length).toLowerCase() !== prefix.toLowerCase()) return 'bad';
  return [found.value.slice(prefix.length)];
}

function claimInBody(payload: unknown, path: string): Claim {
  const holders = valuesAt(payload, path.slice(0, path.lastIndexOf('.')));
  const name = path.slice(path.lastIndexOf('.') + 1);
  const tokens = holders.map((holder) => valuesAt(holder, name)[0]);
  if (tokens.length === 0 || tokens.every((token) => token === undefined || token === null)) return 'absent';
  return tokens.every((token) => typeof token === 'string') ? (tokens as string[]) : 'bad';
}

function judge(claim: Claim, keys: readonly KeyObject[]): Verdict {
  if (claim === 'absent') return missing;
  if (claim === 'bad' || claim.length === 0) return bad;
  const secretIndex = keys.findIndex((key) => claim.every((token) => isToken(key, token)));
  return secretIndex < 0 ? bad : { ok: true, secretIndex };
}

/** Compared by digests: they have one length, so the time tells neither the length nor the place of a difference. */
export function isToken(key: KeyObject, claimed: string | Buffer): boolean {
  if (key.type !== 'secret' || key.symmetricKeySize === 0) return false;
  const digest = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest();
  return timingSafeEqual(digest(key.export()), digest(claimed));
}

function sign(draft: Draft, { key }: Signer, { from, prefix }: Place): Draft {
  const token = typeof key === 'string' ? key : key.export().toString();
  if ('header' in from) {
    return { ...draft, headers: { ...draft.headers, [from.header.toLowerCase()]: `${prefix}${token}` } };
  }
  if ('query' in from) {
    const parameter = `${encodeURIComponent(from.query)}=${encodeURIComponent(token)}`;
    return { ...draft, query: draft.query === '' ? parameter : `${draft.query}&${parameter}` };
  }
  const path = from.json
    .split('.')
    .flatMap((step) => (step.endsWith('[]') ? [step.slice(0, -2), '0'] : [step]));
  const payload = withValueAt(JSON.parse(draft.body.toString('utf8')), path, token);
  return { ...draft, body: Buffer.from(JSON.stringify(payload)) };
}
