import { createHmac, type KeyObject } from 'node:crypto';
import { isToken } from '../../signing/index.ts';
import {
  type Handshake,
  isChallenge,
  json,
  plain,
  type ShakeContext,
  type ShakeResult,
} from './handshake.ts';
import { parameter } from './parameters.ts';

/** Meta, "Verification requests": GET with `hub.mode`, `hub.verify_token` and `hub.challenge`, which is repeated bare. */
export const meta: Handshake = { methods: ['GET'], unsigned: (context) => subscribe(context, plain) };

/** Strava sends the same and wants JSON. */
export const strava: Handshake = {
  methods: ['GET'],
  unsigned: (context) => subscribe(context, (challenge) => json({ 'hub.challenge': challenge })),
};

function subscribe(
  { envelope, verifyTokens }: ShakeContext,
  answer: (challenge: string) => ShakeResult,
): ShakeResult {
  if (envelope.method !== 'GET') return undefined;
  const [mode, token, challenge] = ['hub.mode', 'hub.verify_token', 'hub.challenge'].map((name) =>
    parameter(envelope.query, name),
  );
  if (mode !== 'subscribe' || token === undefined || !isChallenge(challenge)) return 'refused';
  return verifyTokens.some((key) => isToken(key, token)) ? answer(challenge) : 'refused';
}

/**
 * X, "Challenge-response checks": GET with `crc_token`, answered with its HMAC under the consumer secret. The same HMAC
 * signs webhooks: without a bound on what a token may look like, anybody could have a body of their own signed here.
 */
export const x: Handshake = {
  methods: ['GET'],
  unsigned: ({ envelope, keys }) => {
    if (envelope.method !== 'GET') return undefined;
    const token = parameter(envelope.query, 'crc_token');
    const key: KeyObject | undefined = keys[0];
    if (key === undefined || token === undefined || !/^(?=.*[A-Za-z-])[A-Za-z0-9_-]{8,200}$/.test(token))
      return 'refused';
    return json({ response_token: `sha256=${createHmac('sha256', key).update(token).digest('base64')}` });
  },
};
