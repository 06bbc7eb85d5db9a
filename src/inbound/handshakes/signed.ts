import { createHmac } from 'node:crypto';
import { firstHeader } from '../../core/headers.ts';
import { type Handshake, isChallenge, json, plain } from './handshake.ts';

/** Senders that sign their handshake as they sign events. */

function fieldsOf(payload: unknown): Record<string, unknown> {
  return typeof payload === 'object' && payload !== null ? (payload as Record<string, unknown>) : {};
}

/** Slack, "url_verification event": the challenge is repeated. It may come before the secret is known here. */
export const slack: Handshake = {
  methods: [],
  signed: ({ payload }) => {
    const { type, challenge } = fieldsOf(payload());
    return type === 'url_verification' && isChallenge(challenge) ? plain(challenge) : undefined;
  },
};

/** Zoom, "Validate your webhook endpoint": the token and its HMAC, at the beginning and every 72 hours. */
export const zoom: Handshake = {
  methods: [],
  signed: ({ payload, keys }) => {
    const body = fieldsOf(payload());
    const { plainToken } = fieldsOf(body.payload);
    const [key] = keys;
    if (body.event !== 'endpoint.url_validation' || key === undefined || !isChallenge(plainToken))
      return undefined;
    const encryptedToken = createHmac('sha256', key).update(plainToken).digest('hex');
    return json({ plainToken, encryptedToken });
  },
};

/** Discord's pings: of event webhooks type 0, answered 204; of interactions type 1, answered with the same. */
export const discord: Handshake = {
  methods: [],
  signed: ({ payload, keys }) => {
    const body = fieldsOf(payload());
    if (keys.length === 0) return undefined;
    if (body.type === 0) return { reply: { status: 204, contentType: 'application/json' } };
    return body.type === 1 && body.event === undefined ? json({ type: 1 }) : undefined;
  },
};

/** Twitch EventSub, `webhook_callback_verification`: the challenge as text. */
export const twitch: Handshake = {
  methods: [],
  signed: ({ envelope, payload, keys }) => {
    const kind = firstHeader(envelope.rawHeaders, 'twitch-eventsub-message-type');
    const { challenge } = fieldsOf(payload());
    if (keys.length === 0 || kind !== 'webhook_callback_verification') return undefined;
    return isChallenge(challenge) ? plain(challenge) : undefined;
  },
};

/** Exact hosts of SNS: the URL comes from a body, and is fetched. */
const subscribeUrl = /^https:\/\/sns\.[a-z0-9-]{1,40}\.amazonaws\.com(\.cn)?\/\?[\x21-\x7e]{1,2000}$/;

/** AWS SNS, `SubscriptionConfirmation`: confirmed by fetching a URL of SNS, from the queue. */
export const sns: Handshake = {
  methods: [],
  signed: ({ payload }) => {
    const { Type, SubscribeURL } = fieldsOf(payload());
    if (Type !== 'SubscriptionConfirmation') return undefined;
    if (typeof SubscribeURL !== 'string' || !subscribeUrl.test(SubscribeURL)) return 'refused';
    return { reply: { status: 200 }, callback: SubscribeURL };
  },
};
