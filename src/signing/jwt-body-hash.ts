import {
  constants,
  createHash,
  createHmac,
  createPublicKey,
  type KeyObject,
  sign as signBytes,
  timingSafeEqual,
  verify as verifyBytes,
} from 'node:crypto';
import type { Envelope } from '../core/envelope.ts';
import { soleHeader } from '../core/headers.ts';
import {
  bad,
  type Check,
  type CheckContext,
  type Draft,
  missing,
  type Signer,
  stale,
  type Verdict,
} from './check.ts';
import { equalText } from './compare.ts';
import { parseJsonBody } from './json-body.ts';
import { valueAt } from './paths.ts';
import { secretProblem, signingKey, textProblem } from './secrets.ts';

/**
 * The family `jwt-body-hash`: a header carries a JSON Web Token (RFC 7519, compact form of RFC 7515) with a claim that
 * holds the SHA-256 of the body. The algorithm follows from our key, never from the token (RFC 8725, 3.1).
 */
export type JwtBodyHashCheck = {
  readonly family: 'jwt-body-hash';
  readonly header: string;
  /** Text before the token; none is needed where the sender leaves it out. */
  readonly prefix?: string;
  /** The claim with the base64 of the body's SHA-256. Without it the body is not covered. */
  readonly bodyClaim?: string;
};

const mostTokenLength = 8_192;

export function jwtBodyHashCheck(check: JwtBodyHashCheck): Check {
  const header = check.header.toLowerCase();
  return {
    needsSecret: true,
    readsBody: false,
    secretHeaders: [header],
    hasTimestamp: true,
    signsId: false,
    secretProblem: (text) => {
      if (!text.includes('-----BEGIN')) return secretProblem(text, { keyEncoding: 'utf8' });
      if (text.includes('PRIVATE KEY'))
        return 'is a private key; only the sender may have it, this needs its public key';
      return (
        textProblem(text) ??
        (pemKey(text) === undefined ? 'is no public key of RSA or an elliptic curve in PEM' : undefined)
      );
    },
    keyOf: (text) => (text.includes('-----BEGIN') ? pemKey(text) : signingKey(text, 'utf8')),
    judge: (envelope, keys, context) => judge({ ...check, header }, envelope, { keys, context }),
    sign: (draft, signer) => sign({ ...check, header }, draft, signer),
  };
}

function pemKey(text: string): KeyObject | undefined {
  try {
    const key = createPublicKey(text);
    return algorithmsOf(key).length > 0 ? key : undefined;
  } catch {
    return undefined;
  }
}

/** The names of the algorithms that a key of ours may verify; for an elliptic curve it is the one of its size. */
function algorithmsOf(key: KeyObject): readonly string[] {
  if (key.type === 'secret') return ['HS256', 'HS384', 'HS512'];
  if (key.asymmetricKeyType === 'rsa') return ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];
  const curve = key.asymmetricKeyType === 'ec' ? key.asymmetricKeyDetails?.namedCurve : undefined;
  const byCurve: Record<string, string> = { prime256v1: 'ES256', secp384r1: 'ES384', secp521r1: 'ES512' };
  const name = curve === undefined ? undefined : byCurve[curve];
  return name === undefined ? [] : [name];
}

function judge(
  { header, prefix = '', bodyClaim }: JwtBodyHashCheck,
  envelope: Envelope,
  { keys, context }: { keys: readonly KeyObject[]; context: CheckContext },
): Verdict {
  const found = soleHeader(envelope.rawHeaders, header);
  if (found === 'absent' || (typeof found === 'object' && found.value === '')) return missing;
  if (found === 'repeated' || found.value.length > mostTokenLength) return bad;
  const hasPrefix =
    prefix !== '' && found.value.slice(0, prefix.length).toLowerCase() === prefix.toLowerCase();
  const token = hasPrefix ? found.value.slice(prefix.length) : found.value;
  const [head = '', claims = '', signature = '', ...rest] = token.split('.');
  const pieces = [head, claims, signature].map(decodeUrlSafe);
  if (rest.length > 0 || pieces.some((piece) => piece === undefined || piece.length === 0)) return bad;
  const [headBytes, claimBytes, signatureBytes] = pieces as [Buffer, Buffer, Buffer];
  const { alg, isPlain } = headOf(headBytes);
  if (!isPlain) return bad;
  const signed = `${head}.${claims}`;
  const secretIndex = keys.findIndex((key) => hasSigned(key, alg, { signed, signature: signatureBytes }));
  if (secretIndex < 0) return bad;
  const payload = jsonOf(claimBytes);
  if (bodyClaim !== undefined && !coversBody(valueAt(payload, [bodyClaim]), envelope.body)) return bad;
  return inTime(payload, secretIndex, {
    receivedAt: envelope.receivedAt,
    toleranceSeconds: context.toleranceSeconds,
  });
}

function decodeUrlSafe(text: string): Buffer | undefined {
  if (!/^[A-Za-z0-9_-]*$/.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}

/** A critical extension that is not known makes a token invalid (RFC 7515, 4.1.11). */
function headOf(bytes: Buffer): { alg: unknown; isPlain: boolean } {
  const head = jsonOf(bytes);
  return { alg: valueAt(head, ['alg']), isPlain: valueAt(head, ['crit']) === undefined };
}

function jsonOf(bytes: Buffer): unknown {
  const parsed = parseJsonBody(bytes);
  return parsed === 'bad_body' ? undefined : parsed.payload;
}

function hasSigned(key: KeyObject, alg: unknown, of: { signed: string; signature: Buffer }): boolean {
  if (typeof alg !== 'string' || !algorithmsOf(key).includes(alg)) return false;
  const hash = `sha${alg.slice(2)}`;
  if (key.type === 'secret') {
    if (key.symmetricKeySize === 0) return false;
    const expected = createHmac(hash, key).update(of.signed).digest();
    return expected.length === of.signature.length && timingSafeEqual(expected, of.signature);
  }
  return verifyBytes(hash, Buffer.from(of.signed), signingForm(key, alg), of.signature);
}

/** How RFC 7518 writes signatures: two numbers side by side for curves, PSS with a salt of the hash's length. */
function signingForm(key: KeyObject, alg: string) {
  if (alg.startsWith('ES')) return { key, dsaEncoding: 'ieee-p1363' } as const;
  if (alg.startsWith('PS')) {
    return { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
  }
  return { key, padding: constants.RSA_PKCS1_PADDING };
}

function coversBody(claim: unknown, body: Buffer): boolean {
  if (typeof claim !== 'string') return false;
  const expected = createHash('sha256').update(body).digest();
  return equalText(expected.toString('base64'), claim) || equalText(expected.toString('base64url'), claim);
}

/** `exp`, `nbf` and `iat` are seconds since 1970; each that is there must fit. Without `exp` and `iat` the token has no end. */
function inTime(
  payload: unknown,
  secretIndex: number,
  { receivedAt, toleranceSeconds }: { receivedAt: number; toleranceSeconds: number },
): Verdict {
  const [exp, nbf, iat] = ['exp', 'nbf', 'iat'].map((name) => valueAt(payload, [name]));
  for (const claim of [exp, nbf, iat])
    if (claim !== undefined && (typeof claim !== 'number' || !Number.isFinite(claim))) return bad;
  const now = receivedAt / 1000;
  if (typeof exp === 'number' && now > exp + toleranceSeconds) return stale;
  if (typeof nbf === 'number' && now < nbf - toleranceSeconds) return stale;
  if (typeof iat !== 'number') return { ok: true, secretIndex };
  const isOld = now > iat + toleranceSeconds && exp === undefined;
  return isOld || now < iat - toleranceSeconds ? stale : { ok: true, secretIndex, timestamp: iat * 1000 };
}

function sign(
  { header, prefix = '', bodyClaim }: JwtBodyHashCheck,
  draft: Draft,
  { key, timestamp }: Signer,
): Draft {
  const secret = typeof key === 'string' ? signingKey(key, 'utf8') : key;
  if (secret === undefined) throw new Error('the secret cannot be used as a key of this scheme');
  const [alg] = algorithmsOf(secret);
  if (alg === undefined)
    throw new Error('this scheme is signed with a secret, an RSA key or an elliptic curve');
  const iat = Math.floor(timestamp / 1000);
  const covered =
    bodyClaim === undefined ? {} : { [bodyClaim]: createHash('sha256').update(draft.body).digest('base64') };
  const piece = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${piece({ alg, typ: 'JWT' })}.${piece({ iat, exp: iat + 300, ...covered })}`;
  const hash = `sha${alg.slice(2)}`;
  const signature =
    secret.type === 'secret'
      ? createHmac(hash, secret).update(signed).digest()
      : signBytes(hash, Buffer.from(signed), signingForm(secret, alg));
  return {
    ...draft,
    headers: { ...draft.headers, [header]: `${prefix}${signed}.${signature.toString('base64url')}` },
  };
}
