import { readFileSync } from 'node:fs';
import type { Envelope } from '../../src/core/envelope.ts';
import { compileScheme, providers, type Scheme, type SchemeOptions } from '../../src/signing/index.ts';

/** Published and derived vectors: each says which in the file. */
export type Vector = {
  id: string;
  key: string;
  signedText: string;
  encoding: string;
  expected: string;
  headers?: Record<string, string>;
  body?: string;
  bodyBase64?: string;
  url?: string;
  notificationUrl?: string;
  params?: Record<string, string>;
  seedHex?: string;
  secretAsShown?: string;
  publicKeyAsShown?: string;
  clientSecret?: string;
};

const file = new URL('../data/signature-vectors.json', import.meta.url);
export const vectors = new Map<string, Vector>(
  (JSON.parse(readFileSync(file, 'utf8')) as Vector[]).map((vector) => [vector.id, vector]),
);

export type Case = {
  readonly id: string;
  readonly slug: string;
  readonly options?: SchemeOptions;
  /** What the vector leaves to the reader: headers, the body, the time at which it was received. */
  readonly headers?: (vector: Vector) => Record<string, string>;
  readonly body?: (vector: Vector) => string;
  readonly method?: string;
  readonly query?: string;
  readonly secret?: (vector: Vector) => string;
  /** Milliseconds since 1970, where a time is signed. */
  readonly timestamp?: number;
  readonly eventId?: string;
  /** ECDSA signs differently each time. */
  readonly isRandom?: boolean;
};

const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
const twilio = (id: string): Case => ({
  id,
  slug: 'twilio',
  options: { publicUrl: vectors.get(id)?.url },
  headers: ({ headers }) => ({ ...form, ...headers }),
  body: ({ params }) => new URLSearchParams(params).toString(),
});
const square = (id: string): Case => ({
  id,
  slug: 'square',
  options: { publicUrl: vectors.get(id)?.notificationUrl },
});
const shown = ({ secretAsShown }: Vector) => secretAsShown as string;
/** The time of the derived vectors. */
const derivedAt = 1_700_000_000_000;

/** The vectors that are requests of a sender, each with the sender's row of the catalogue. */
export const cases: readonly Case[] = [
  { id: 'slack-docs', slug: 'slack', timestamp: 1_531_420_618_000 },
  {
    id: 'standard-webhooks-lib',
    slug: 'standard-webhooks',
    secret: shown,
    timestamp: 1_614_265_330_000,
    eventId: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  },
  {
    id: 'svix-docs',
    slug: 'resend',
    secret: shown,
    timestamp: 1_731_705_121_000,
    eventId: 'msg_loFOjxBNrRLzqYUf',
  },
  twilio('twilio-form'),
  twilio('twilio-https-443'),
  twilio('twilio-http-1234'),
  twilio('twilio-userinfo'),
  square('square-1'),
  square('square'),
  {
    id: 'adyen-standard-1',
    slug: 'adyen',
    headers: () => ({}),
    body: ({ signedText, expected }) => adyenBody(signedText, expected),
  },
  { id: 'adyen-platform-raw-body', slug: 'adyen-platform' },
  { id: 'paddle-1', slug: 'paddle', timestamp: 1_698_796_800_000 },
  { id: 'razorpay', slug: 'razorpay' },
  {
    id: 'hubspot-v1',
    slug: 'hubspot-v1v2',
    options: { publicUrl: 'https://www.example.com/webhook_uri' },
    secret: () => 'yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy',
  },
  {
    id: 'hubspot-v2-get',
    slug: 'hubspot-v1v2',
    options: { publicUrl: 'https://www.example.com/webhook_uri' },
    method: 'GET',
    headers: ({ expected }) => ({ 'X-HubSpot-Signature': expected }),
    secret: ({ clientSecret }) => clientSecret as string,
  },
  {
    id: 'hubspot-v3',
    slug: 'hubspot',
    options: { publicUrl: 'https://hooks.example.com/in/abc' },
    query: 'x=1',
    timestamp: derivedAt,
  },
  { id: 'circleci-1', slug: 'circleci' },
  { id: 'circleci-2', slug: 'circleci' },
  { id: 'pagerduty-v3', slug: 'pagerduty' },
  { id: 'stripe-full-header', slug: 'stripe', timestamp: 1_492_774_577_000 },
  { id: 'sendgrid-ecdsa', slug: 'sendgrid', timestamp: 1_600_112_502_000, isRandom: true },
  {
    id: 'cloudpayments-encoded',
    slug: 'cloudpayments',
    headers: ({ expected }) => ({ ...form, 'Content-HMAC': expected }),
  },
  { id: 'discord-ed25519', slug: 'discord', timestamp: derivedAt },
  {
    id: 'standard-webhooks-v1a',
    slug: 'standard-webhooks',
    secret: ({ publicKeyAsShown }) => publicKeyAsShown as string,
    timestamp: derivedAt,
    eventId: 'msg_1',
  },
];

/** A case as a request, and with what it verifies. */
export function prepared(given: Case): {
  vector: Vector;
  scheme: Scheme;
  envelope: Envelope;
  secret: string;
} {
  const vector = vectors.get(given.id) as Vector;
  const headers = given.headers?.(vector) ?? vector.headers ?? {};
  const bytes =
    vector.bodyBase64 === undefined
      ? Buffer.from(given.body?.(vector) ?? vector.body ?? '')
      : Buffer.from(vector.bodyBase64, 'base64');
  const receivedAt = given.timestamp ?? derivedAt;
  return {
    vector,
    scheme: compileScheme((providers[given.slug] as (typeof providers)[string]).scheme, given.options ?? {}),
    envelope: {
      ...request(Object.entries(headers).flat(), bytes),
      method: given.method ?? 'POST',
      query: given.query ?? '',
      receivedAt,
    },
    secret: given.secret?.(vector) ?? vector.key,
  };
}

function adyenBody(signedText: string, hmacSignature: string): string {
  const [
    pspReference,
    originalReference,
    merchantAccountCode,
    merchantReference,
    value,
    currency,
    eventCode,
    success,
  ] = signedText.split(':');
  const NotificationRequestItem = {
    additionalData: { hmacSignature },
    amount: { currency, value: Number(value) },
    ...{ pspReference, originalReference, merchantAccountCode, merchantReference, eventCode, success },
  };
  return JSON.stringify({ live: 'false', notificationItems: [{ NotificationRequestItem }] });
}

/** A request at the time of the derived vectors. */
export function request(rawHeaders: string[], body: Buffer): Envelope {
  return { method: 'POST', query: '', rawHeaders, body, receivedAt: derivedAt };
}
