import { createHmac, type KeyObject, randomBytes } from 'node:crypto';
import type { Envelope } from '../core/envelope.ts';
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
import { equalText } from './compare.ts';
import { valueAt, withValueAt } from './paths.ts';
import { secretProblem, signingKey } from './secrets.ts';
import { comparableTime, parseTimestamp, timestampText } from './timestamp.ts';

/**
 * The family `mailgun-body` ("Securing Webhooks" in Mailgun's documents): the body carries `timestamp`, `token` and the
 * hexadecimal HMAC-SHA256 of the two. The rest of the body is not covered: who sees one request could send others in its
 * name, so a token holds for one body only (`usedToken`, which the receiver must remember).
 */
export type MailgunBodyCheck = { readonly family: 'mailgun-body' };

const keyEncoding = 'utf8';
const hexOfSha256 = 64;

export const mailgunBodyCheck: Check = {
  needsSecret: true,
  readsBody: true,
  secretHeaders: [],
  hasTimestamp: true,
  signsId: false,
  secretProblem: (text) => secretProblem(text, { keyEncoding }),
  keyOf: (text) => signingKey(text, keyEncoding),
  judge,
  sign,
};

type Claim = { readonly timestamp: string; readonly token: string; readonly signature: string };

function judge(envelope: Envelope, keys: readonly KeyObject[], context: CheckContext): Verdict {
  const claim = claimIn(context.payload());
  if (claim === 'absent') return missing;
  // A time of fixed length cannot be shifted into the token behind it.
  const timestamp = claim === 'bad' ? undefined : parseTimestamp(claim.timestamp, 's');
  if (claim === 'bad' || timestamp === undefined || claim.signature.length !== hexOfSha256) return bad;
  const secretIndex = keys.findIndex(
    (key) =>
      key.type === 'secret' &&
      key.symmetricKeySize !== 0 &&
      equalText(macOf(key, claim), claim.signature.toLowerCase()),
  );
  if (secretIndex < 0) return bad;
  return withinWindow(timestamp, secretIndex, {
    receivedAt: comparableTime(envelope.receivedAt, 's'),
    toleranceSeconds: context.toleranceSeconds,
  });
}

/** In a JSON body the three stand in `signature`, in a form beside the other fields. */
function claimIn(payload: unknown): Claim | 'absent' | 'bad' {
  const inner = valueAt(payload, ['signature']);
  const holder = typeof inner === 'object' ? inner : payload;
  const [timestamp, token, signature] = ['timestamp', 'token', 'signature'].map((name) =>
    valueAt(holder, [name]),
  );
  if (signature === undefined || signature === null || signature === '') return 'absent';
  const time = typeof timestamp === 'number' ? String(timestamp) : timestamp;
  if (typeof time !== 'string' || typeof token !== 'string' || typeof signature !== 'string') return 'bad';
  return token === '' || token.length > 200 ? 'bad' : { timestamp: time, token, signature };
}

/** The token of a request that verified. It must not come again with another body. */
export function usedToken(payload: unknown): string {
  const claim = claimIn(payload);
  return typeof claim === 'object' ? claim.token : '';
}

function macOf(key: KeyObject, { timestamp, token }: Pick<Claim, 'timestamp' | 'token'>): string {
  return createHmac('sha256', key).update(timestamp).update(token).digest('hex');
}

function sign(draft: Draft, { key, timestamp }: Signer): Draft {
  const secret = typeof key === 'string' ? signingKey(key, keyEncoding) : key;
  if (secret === undefined) throw new Error('the secret cannot be used as a key of this scheme');
  const claim = { timestamp: timestampText(timestamp, 's'), token: randomBytes(25).toString('hex') };
  const payload = JSON.parse(draft.body.toString('utf8'));
  const signature = { ...claim, signature: macOf(secret, claim) };
  return { ...draft, body: Buffer.from(JSON.stringify(withValueAt(payload, ['signature'], signature))) };
}
