import type { IdRule, ItemRule } from '../scheme.ts';
import { hmac, type Providers } from './provider.ts';

const hubspotId: readonly IdRule[] = [
  {
    parts: [{ json: 'subscriptionId' }, { json: 'eventId' }, { json: 'objectId' }, { json: 'occurredAt' }],
  },
  { digest: 'body' },
];
/** A repetition counts its tries in the body, so a digest of the body would not do. */
const hubspotItems: ItemRule = { at: ['[]'], id: hubspotId, type: [{ json: 'subscriptionType' }] };

/** Planning, documents, forms and support. */
export const workProviders: Providers = {
  // Repeats after a minute, an hour and six hours; the time in the body may be that of the first try.
  linear: {
    title: 'Linear',
    scheme: {
      check: hmac('Linear-Signature', { timestamp: { json: 'webhookTimestamp', unit: 'ms' } }),
      eventId: [{ header: 'Linear-Delivery' }],
      eventType: [
        { parts: [{ json: 'type' }, { json: 'action' }] },
        { parts: [{ header: 'Linear-Event' }, { json: 'action' }] },
      ],
    },
    retries: 'hours',
    toleranceSeconds: 8 * 3_600,
  },
  jira: {
    title: 'Jira Cloud (admin webhooks)',
    scheme: {
      check: hmac('X-Hub-Signature', { prefix: 'sha256=' }),
      eventId: [{ header: 'X-Atlassian-Webhook-Identifier' }],
      eventType: [{ json: 'webhookEvent' }],
    },
    retries: 'hours',
  },
  asana: {
    title: 'Asana',
    scheme: {
      check: hmac('X-Hook-Signature'),
      eventId: [{ items: true }, { digest: 'body' }],
      eventType: [{ value: 'batch' }],
      items: {
        at: ['events[]'],
        id: [{ digest: 'body' }],
        type: [{ parts: [{ json: 'resource.resource_type' }, { json: 'action' }] }],
      },
    },
    handshake: 'asana',
    retries: 'days',
  },
  trello: {
    title: 'Trello',
    scheme: {
      check: hmac('X-Trello-Webhook', { hash: 'sha1', encoding: 'base64', signed: '{body}{url}' }),
      eventId: [{ json: 'action.id' }],
      eventType: [{ json: 'action.type' }],
    },
    needs: ['publicUrl'],
    handshake: 'trello',
    retries: 'hours',
  },
  monday: {
    title: 'monday.com',
    scheme: {
      check: { family: 'jwt-body-hash', header: 'Authorization', prefix: 'Bearer ' },
      eventId: [{ json: 'event.triggerUuid' }],
      eventType: [{ json: 'event.type' }],
    },
    handshake: 'monday',
    retries: 'hours',
  },
  notion: {
    title: 'Notion',
    scheme: {
      check: hmac('X-Notion-Signature', { prefix: 'sha256=' }),
      eventId: [{ json: 'id' }],
      eventType: [{ json: 'type' }],
    },
    handshake: 'notion',
    retries: 'days',
    redact: ['verification_token'],
  },
  // The documents decode some escapes of the URI first, the library does not: either is taken.
  hubspot: {
    title: 'HubSpot (signature v3)',
    scheme: {
      check: hmac('X-HubSpot-Signature-v3', {
        encoding: 'base64',
        signed: '{method}{uri}{body}{timestamp}',
        decodesUri: true,
        timestamp: { header: 'X-HubSpot-Request-Timestamp', unit: 'ms' },
      }),
      eventId: [{ items: true }, { digest: 'body' }],
      eventType: [{ value: 'batch' }],
      items: hubspotItems,
    },
    needs: ['publicUrl'],
    retries: 'days',
    toleranceSeconds: 300,
  },
  'hubspot-v1v2': {
    title: 'HubSpot (signatures v1 and v2)',
    scheme: {
      check: {
        ...hmac('X-HubSpot-Signature', { signed: ['{secret}{body}', '{secret}{method}{uri}{body}'] }),
        family: 'digest',
      },
      eventId: [{ items: true }, { digest: 'body' }],
      eventType: [{ value: 'batch' }],
      items: hubspotItems,
    },
    needs: ['publicUrl'],
    retries: 'days',
  },
  webflow: {
    title: 'Webflow',
    scheme: {
      check: hmac('x-webflow-signature', {
        signed: '{timestamp}:{body}',
        timestamp: { header: 'x-webflow-timestamp', unit: 'ms' },
      }),
      eventId: [{ digest: 'body' }],
      eventType: [{ json: 'triggerType' }],
    },
    retries: 'hours',
    toleranceSeconds: 300,
  },
  intercom: {
    title: 'Intercom',
    scheme: {
      check: hmac('X-Hub-Signature', { hash: 'sha1', prefix: 'sha1=' }),
      eventId: [{ json: 'id' }],
      eventType: [{ json: 'topic' }],
    },
    handshake: 'intercom',
    retries: 'hours',
    skippedTypes: ['ping'],
  },
  zendesk: {
    title: 'Zendesk',
    scheme: {
      check: hmac('X-Zendesk-Webhook-Signature', {
        encoding: 'base64',
        signed: '{timestamp}{body}',
        timestamp: { header: 'X-Zendesk-Webhook-Signature-Timestamp', unit: 'iso' },
      }),
      body: 'json-or-any',
      eventId: [{ json: 'id' }, { header: 'X-Zendesk-Webhook-Invocation-Id' }, { digest: 'body' }],
      eventType: [{ json: 'type' }],
    },
    retries: 'hours',
    toleranceSeconds: 300,
  },
  docusign: {
    title: 'DocuSign Connect',
    scheme: {
      check: hmac('X-DocuSign-Signature', { numbered: 100, encoding: 'base64' }),
      body: 'json-or-any',
      eventId: [
        { parts: [{ json: 'data.envelopeId' }, { json: 'event' }, { json: 'generatedDateTime' }] },
        { digest: 'body' },
      ],
      eventType: [{ json: 'event' }],
    },
    retries: 'days',
    maxPayloadKb: 25_600,
  },
  calendly: {
    title: 'Calendly',
    scheme: {
      check: hmac('Calendly-Webhook-Signature', {
        list: ',',
        field: 'v1',
        signed: '{timestamp}.{body}',
        timestamp: { field: 't', unit: 's' },
      }),
      eventId: [
        { parts: [{ json: 'payload.uri' }, { json: 'event' }, { json: 'created_at' }] },
        { digest: 'body' },
      ],
      eventType: [{ json: 'event' }],
    },
    retries: 'days',
    toleranceSeconds: 180,
  },
  typeform: {
    title: 'Typeform',
    scheme: {
      check: hmac('Typeform-Signature', { prefix: 'sha256=', encoding: 'base64' }),
      eventId: [{ json: 'event_id' }],
      eventType: [{ json: 'event_type' }],
    },
    retries: 'hours',
  },
};
