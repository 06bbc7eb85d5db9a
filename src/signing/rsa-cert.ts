import { type KeyObject, sign as signBytes, verify as verifyBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Envelope } from '../core/envelope.ts';
import { soleHeader } from '../core/headers.ts';
import {
  bad,
  type Check,
  type CheckContext,
  type Draft,
  missing,
  type SchemeOptions,
  type Signer,
  type Verdict,
  withinWindow,
} from './check.ts';
import { decodeStrictly } from './compare.ts';
import { publicKey, publicKeyProblem } from './secrets.ts';
import { snsClaim, snsSign } from './sns.ts';
import { parseTimestamp } from './timestamp.ts';

/**
 * The family `rsa-cert`: signed with RSA; the request names the certificate, which must lie at the sender's own host.
 * This file fetches nothing: it says which certificate is meant (`certificateUrl`), and its key is handed in like any
 * other; or a file pins a certificate or public key.
 */
export type RsaCertCheck = { readonly family: 'rsa-cert'; readonly layout: 'sns' | 'paypal' };

/** What a request claims: bytes, signature, hash and time; several spellings of the bytes where the sender's differ. */
export type RsaClaim = {
  readonly messages: readonly Buffer[];
  readonly signature: string;
  readonly hash: 'sha1' | 'sha256';
  readonly timestamp: string;
  readonly certificateUrl: string;
};

export function rsaCertCheck({ layout }: RsaCertCheck, options: SchemeOptions): Check {
  const claimOf = (envelope: Envelope, payload: unknown) =>
    layout === 'sns' ? snsClaim(payload, options.topics) : paypalClaim(envelope, options.webhookId ?? '');
  return {
    needsSecret: false,
    readsBody: layout === 'sns',
    secretHeaders: layout === 'sns' ? [] : ['paypal-transmission-sig'],
    hasTimestamp: true,
    signsId: layout === 'sns',
    secretProblem: (text) => publicKeyProblem(text, 'rsa'),
    keyOf: (text) => publicKey(text, 'rsa'),
    judge: (envelope, keys, context) =>
      judge(claimOf(envelope, layout === 'sns' ? context.payload() : undefined), { envelope, keys, context }),
    sign: (draft, signer) =>
      layout === 'sns' ? snsSign(draft, signer) : paypalSign(draft, signer, options.webhookId ?? ''),
    certificateUrl(envelope, payload) {
      const claim = claimOf(envelope, payload);
      if (typeof claim === 'string') return claim === 'absent' ? undefined : 'bad';
      return isOwnHost(claim.certificateUrl, layout) ? claim.certificateUrl : 'bad';
    },
  };
}

/** The addresses of certificates: exact hosts, https, no user, port or query (SSRF: the request names them). */
const certificateHosts = {
  sns: /^https:\/\/sns\.[a-z0-9-]{1,40}\.amazonaws\.com(\.cn)?\/[A-Za-z0-9._-]{1,200}\.pem$/,
  paypal: /^https:\/\/([a-z0-9-]{1,60}\.)+paypal\.com\/[A-Za-z0-9._/-]{1,200}$/,
};

function isOwnHost(url: string, layout: 'sns' | 'paypal'): boolean {
  return certificateHosts[layout].test(url) && !url.includes('..');
}

function judge(
  claim: RsaClaim | 'absent' | 'bad',
  { envelope, keys, context }: { envelope: Envelope; keys: readonly KeyObject[]; context: CheckContext },
): Verdict {
  if (claim === 'absent') return missing;
  const signature = claim === 'bad' ? undefined : decodeStrictly(claim.signature, 'base64');
  if (claim === 'bad' || signature === undefined || signature.length < 128) return bad;
  const timestamp = parseTimestamp(claim.timestamp, 'iso');
  if (timestamp === undefined) return bad;
  const secretIndex = keys.findIndex(
    (key) =>
      key.asymmetricKeyType === 'rsa' &&
      claim.messages.some((message) => verifyBytes(claim.hash, message, key, signature)),
  );
  if (secretIndex < 0) return bad;
  const { toleranceSeconds } = context;
  return withinWindow(timestamp, secretIndex, { receivedAt: envelope.receivedAt, toleranceSeconds });
}

const paypalHeaders = ['transmission-id', 'transmission-time', 'transmission-sig', 'cert-url', 'auth-algo'];

/** PayPal, "Verify webhook signature": the id, the time, the id of our webhook and the CRC-32 of the body, joined by bars. */
function paypalClaim({ rawHeaders, body }: Envelope, webhookId: string): RsaClaim | 'absent' | 'bad' {
  const found = paypalHeaders.map((name) => soleHeader(rawHeaders, `paypal-${name}`));
  if (found.includes('repeated')) return 'bad';
  if (found.includes('absent')) return 'absent';
  const [id = '', timestamp = '', signature = '', certificateUrl = '', algorithm = ''] = found.map(
    (header) => (typeof header === 'object' ? header.value : ''),
  );
  // With a bar in the id, id and time could be shifted into each other.
  if (algorithm !== 'SHA256withRSA' || id === '' || id.includes('|')) return 'bad';
  const message = paypalText({ id, timestamp, webhookId, body });
  return { messages: [message], signature, hash: 'sha256', timestamp, certificateUrl };
}

/** The CRC is only 32 bits wide: it tells a changed body from the right one, but no clever attacker from PayPal. */
export function paypalText(of: { id: string; timestamp: string; webhookId: string; body: Buffer }): Buffer {
  return Buffer.from(`${of.id}|${of.timestamp}|${of.webhookId}|${crc32(of.body)}`);
}

function paypalSign(draft: Draft, { key, id, timestamp }: Signer, webhookId: string): Draft {
  if (typeof key === 'string') throw new Error('this scheme is signed with a private key');
  const time = new Date(timestamp).toISOString();
  const message = paypalText({ id, timestamp: time, webhookId, body: draft.body });
  const headers = {
    'paypal-transmission-id': id,
    'paypal-transmission-time': time,
    'paypal-transmission-sig': signBytes('sha256', message, key).toString('base64'),
    'paypal-cert-url': 'https://api.paypal.com/v1/notifications/certs/CERT-test',
    'paypal-auth-algo': 'SHA256withRSA',
  };
  return { ...draft, headers: { ...draft.headers, ...headers } };
}
