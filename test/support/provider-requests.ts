import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { Envelope } from '../../src/core/envelope.ts';
import {
  compileScheme,
  type Provider,
  providers,
  type Scheme,
  sampleRequest,
  sign,
} from '../../src/signing/index.ts';

/** A signed request of any provider of the catalogue, and with what it verifies. */
export type ProviderRequest = {
  readonly slug: string;
  readonly provider: Provider;
  readonly scheme: Scheme;
  readonly envelope: Envelope;
  /** The secret's text as it would stand in a file. */
  readonly secret: string;
  /** Another secret of the same kind, which did not sign. */
  readonly otherSecret: string;
};

export const publicUrl = 'https://hooks.example.com/api/v1/webhooks/shop?shop=1';
export const receivedAt = 1_790_000_000_000;
export const topic = 'arn:aws:sns:eu-west-1:123456789012:posthorn';
export const senderAddress = '185.71.76.5';

const rsa = [0, 1].map(() => generateKeyPairSync('rsa', { modulusLength: 2048 }));
const ec = [0, 1].map(() => generateKeyPairSync('ec', { namedCurve: 'P-256' }));
/** RFC 8032, 7.1, tests 1 and 2. */
const ed25519 = [
  '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
  '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb',
].map(ed25519PrivateKey);

type Keys = { readonly secrets: readonly [string, string]; readonly signer: string | KeyObject };

/** Two secrets of the kind that the scheme takes; the first one signs. */
export function keysFor(scheme: Scheme): Keys {
  const { check } = scheme.description;
  const text = (of: (n: number) => string): Keys => ({ secrets: [of(0), of(1)], signer: of(0) });
  switch (check.family) {
    case 'rsa-cert':
      return {
        secrets: rsa.map(({ publicKey }) => publicKey.export({ type: 'spki', format: 'pem' }) as string) as [
          string,
          string,
        ],
        signer: (rsa[0] as (typeof rsa)[number]).privateKey,
      };
    case 'ecdsa':
      return {
        secrets: ec.map(({ publicKey }) =>
          publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
        ) as [string, string],
        signer: (ec[0] as (typeof ec)[number]).privateKey,
      };
    case 'ed25519':
      return { secrets: ed25519.map(publicHex) as [string, string], signer: ed25519[0] as KeyObject };
    case 'basic':
      return text((n) => `posthorn:a:long-password-${n}-of-the-tests`);
    case 'adyen-item':
      return text((n) => `${n}a`.repeat(32));
    case 'hmac':
      if (check.key === 'hex') return text((n) => `${n}a`.repeat(32));
      if (check.key === 'base64') return text((n) => Buffer.alloc(32, n + 7).toString('base64'));
      return text((n) => `a-secret-of-the-tests-${n}-0123456789`);
    case 'standard':
      return text((n) => `whsec_${Buffer.alloc(32, n + 17).toString('base64')}`);
    default:
      return text((n) => `a-secret-of-the-tests-${n}-0123456789`);
  }
}

/** RFC 8410: the key of a seed, with what stands before it in PKCS #8. */
export function ed25519PrivateKey(seedHex: string): KeyObject {
  const der = Buffer.from(`302e020100300506032b657004220420${seedHex}`, 'hex');
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
}

function publicHex(key: KeyObject): string {
  return key.export({ format: 'jwk' }).x === undefined
    ? ''
    : Buffer.from(key.export({ format: 'jwk' }).x as string, 'base64url').toString('hex');
}

export function schemeFor(provider: Provider): Scheme {
  return compileScheme(provider.scheme, { publicUrl, webhookId: '1JE4291016473214C', topics: [topic] });
}

export function providerRequest(
  slug: string,
  { id = 'evt_1', type = 'thing.made', text = 'hello' }: { id?: string; type?: string; text?: string } = {},
): ProviderRequest {
  const provider = providers[slug] as Provider;
  const scheme = schemeFor(provider);
  const { secrets, signer } = keysFor(scheme);
  const draft = sampleRequest(scheme, { id, type, text });
  const made = sign({ ...draft, query: 'shop=1' }, scheme, { key: signer, id, timestamp: receivedAt });
  const { method, query, headers, body } = made;
  const rawHeaders = Object.entries(headers).flat();
  return {
    slug,
    provider,
    scheme,
    envelope: { method, query, rawHeaders, body, receivedAt },
    secret: secrets[0],
    otherSecret: secrets[1],
  };
}
