import { hmac, type Providers } from './provider.ts';

/** Chat, calls and social networks. */
export const chatProviders: Providers = {
  slack: {
    title: 'Slack',
    scheme: {
      check: hmac('X-Slack-Signature', {
        prefix: 'v0=',
        signed: 'v0:{timestamp}:{body}',
        timestamp: { header: 'X-Slack-Request-Timestamp', unit: 's' },
      }),
      body: 'json-or-form',
      eventId: [{ json: 'event_id' }, { json: 'trigger_id' }, { digest: 'body' }],
      eventType: [{ json: 'event.type' }, { json: 'command' }, { json: 'type' }],
    },
    handshake: 'slack',
    retries: 'hours',
    toleranceSeconds: 300,
    redact: ['token'],
  },
  discord: {
    title: 'Discord',
    scheme: {
      check: {
        family: 'ed25519',
        header: 'X-Signature-Ed25519',
        encoding: 'hex',
        signed: '{timestamp}{body}',
        timestamp: { header: 'X-Signature-Timestamp', unit: 's' },
      },
      eventId: [{ json: 'id' }, { digest: 'body' }],
      eventType: [{ json: 'event.type' }, { parts: [{ value: 'interaction' }, { json: 'type' }] }],
    },
    handshake: 'discord',
    reply: { status: 204 },
    retries: 'hours',
    toleranceSeconds: 300,
    redact: ['token'],
  },
  telegram: {
    title: 'Telegram Bot API',
    scheme: {
      check: { family: 'token', from: { header: 'X-Telegram-Bot-Api-Secret-Token' }, leastLength: 1 },
      eventId: [{ json: 'update_id' }],
      eventType: [{ keyBeside: ['update_id'] }],
    },
    retries: 'days',
  },
  'ms-teams': {
    title: 'Microsoft Teams outgoing webhook',
    scheme: {
      check: hmac('Authorization', { key: 'base64', prefix: 'HMAC ', encoding: 'base64' }),
      eventId: [{ json: 'id' }],
      eventType: [{ json: 'type' }],
    },
    reply: { status: 200, contentType: 'application/json', body: '{"type":"message","text":"Received."}' },
    retries: 'none',
  },
  // A call repeats its status; only a status with a number of its own is one event.
  twilio: {
    title: 'Twilio',
    scheme: {
      check: { family: 'twilio' },
      body: 'json-or-form',
      eventId: [
        { parts: [{ json: 'MessageSid' }, { json: 'MessageStatus' }] },
        { parts: [{ json: 'MessageSid' }, { json: 'SmsStatus' }] },
        { parts: [{ json: 'CallSid' }, { json: 'CallStatus' }, { json: 'SequenceNumber' }] },
        { digest: 'body' },
      ],
      eventType: [{ json: 'MessageStatus' }, { json: 'CallStatus' }, { json: 'SmsStatus' }],
    },
    needs: ['publicUrl'],
    retries: 'none',
  },
  zoom: {
    title: 'Zoom',
    scheme: {
      check: hmac('x-zm-signature', {
        prefix: 'v0=',
        signed: 'v0:{timestamp}:{body}',
        timestamp: { header: 'x-zm-request-timestamp', unit: 's' },
      }),
      eventId: [
        { parts: [{ json: 'event' }, { json: 'event_ts' }, { json: 'payload.object.uuid' }] },
        { parts: [{ json: 'event' }, { json: 'event_ts' }, { json: 'payload.object.id' }] },
        { digest: 'body' },
      ],
      eventType: [{ json: 'event' }],
    },
    handshake: 'zoom',
    retries: 'hours',
    toleranceSeconds: 300,
  },
  meta: {
    title: 'Meta, WhatsApp and Messenger',
    scheme: {
      check: hmac('X-Hub-Signature-256', { prefix: 'sha256=' }),
      eventId: [{ items: true }, { digest: 'body' }],
      eventType: [{ json: 'object' }],
      items: {
        at: ['entry[].changes[]', 'entry[].messaging[]'],
        id: [
          { parts: [{ json: 'field' }, { json: 'value.messages.0.id' }] },
          {
            parts: [{ json: 'field' }, { json: 'value.statuses.0.id' }, { json: 'value.statuses.0.status' }],
          },
          { json: 'message.mid' },
          { digest: 'body' },
        ],
        type: [{ json: 'field' }, { value: 'messaging' }],
      },
    },
    needs: ['verifyToken'],
    handshake: 'meta',
    retries: 'days',
  },
  x: {
    title: 'X account activity',
    scheme: {
      check: hmac('x-twitter-webhooks-signature', { prefix: 'sha256=', encoding: 'base64' }),
      eventId: [{ digest: 'body' }],
      eventType: [{ keyBeside: ['for_user_id', 'users', 'apps', 'user_has_blocked'] }],
    },
    handshake: 'x',
    retries: 'hours',
  },
  twitch: {
    title: 'Twitch EventSub',
    scheme: {
      check: hmac('Twitch-Eventsub-Message-Signature', {
        prefix: 'sha256=',
        signed: '{id}{timestamp}{body}',
        idHeader: 'Twitch-Eventsub-Message-Id',
        timestamp: { header: 'Twitch-Eventsub-Message-Timestamp', unit: 'iso' },
      }),
      eventId: [{ header: 'Twitch-Eventsub-Message-Id' }],
      eventType: [{ header: 'Twitch-Eventsub-Subscription-Type' }],
    },
    handshake: 'twitch',
    retries: 'hours',
    toleranceSeconds: 600,
  },
  strava: {
    title: 'Strava',
    scheme: {
      check: { family: 'none' },
      eventId: [
        {
          parts: [
            { json: 'object_type' },
            { json: 'object_id' },
            { json: 'aspect_type' },
            { json: 'event_time' },
          ],
        },
        { digest: 'body' },
      ],
      eventType: [{ parts: [{ json: 'object_type' }, { json: 'aspect_type' }] }],
    },
    needs: ['verifyToken'],
    handshake: 'strava',
    retries: 'hours',
  },
};
