import { firstHeader, soleHeader } from '../../core/headers.ts';
import { empty, type Handshake, isChallenge, json, plain } from './handshake.ts';
import { parameter } from './parameters.ts';

/** Senders that want something repeated, or only an answer; none of these requests is signed. */

/** Dropbox, "Webhooks": GET with `challenge`, repeated as text. */
export const dropbox: Handshake = {
  methods: ['GET'],
  unsigned: ({ envelope }) => {
    const challenge = envelope.method === 'GET' ? parameter(envelope.query, 'challenge') : undefined;
    return isChallenge(challenge) ? plain(challenge) : undefined;
  },
};

/** Microsoft Graph, "Receive change notifications through webhooks": POST with `validationToken`, repeated as text. */
export const microsoft: Handshake = {
  methods: [],
  unsigned: ({ envelope }) => {
    const token = parameter(envelope.query, 'validationToken');
    return isChallenge(token, 2_000) ? plain(token) : undefined;
  },
};

/** monday.com, "Webhooks": a body with nothing but `challenge`; `type` beside it would be Slack's. */
export const monday: Handshake = {
  methods: [],
  unsigned: ({ payload }) => {
    const body = payload() as { challenge?: unknown } | undefined | null;
    if (typeof body !== 'object' || body === null || Object.keys(body).length !== 1) return undefined;
    return isChallenge(body.challenge) ? json({ challenge: body.challenge }) : undefined;
  },
};

/** Okta, "Event hooks": one GET with a header, its value repeated in JSON. */
export const okta: Handshake = {
  methods: ['GET'],
  unsigned: ({ envelope }) => {
    if (envelope.method !== 'GET') return undefined;
    const header = soleHeader(envelope.rawHeaders, 'x-okta-verification-challenge');
    return typeof header === 'object' && isChallenge(header.value)
      ? json({ verification: header.value })
      : undefined;
  },
};

/** Trello asks for the callback URL with HEAD when a webhook is made, and now and then later. */
export const trello: Handshake = {
  methods: ['HEAD'],
  unsigned: ({ envelope }) => (envelope.method === 'HEAD' ? empty : undefined),
};

/** Intercom asks with HEAD when the URL is saved; its `ping` is an ordinary, signed event. */
export const intercom: Handshake = trello;

/** WooCommerce posts `webhook_id=N` as a form, unsigned, when a webhook is saved. */
export const woocommerce: Handshake = {
  methods: [],
  unsigned: ({ envelope }) =>
    envelope.body.length < 40 && /^webhook_id=\d{1,20}$/.test(envelope.body.toString('latin1'))
      ? empty
      : undefined,
};

/** Bitbucket Server tests the connection with an event of its own, which is not signed. */
export const bitbucket: Handshake = {
  methods: [],
  unsigned: ({ envelope }) =>
    firstHeader(envelope.rawHeaders, 'x-event-key') === 'diagnostics:ping' ? empty : undefined,
};
