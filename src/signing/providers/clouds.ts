import { hmac, type Providers } from './provider.ts';

/** Clouds, files and who signs in. */
export const cloudProviders: Providers = {
  dropbox: {
    title: 'Dropbox',
    scheme: {
      check: hmac('X-Dropbox-Signature'),
      // It only says that something changed: the same body comes again and is another event.
      eventId: [{ unique: true }],
      eventType: [{ value: 'list_folder' }],
      items: {
        at: ['list_folder.accounts[]', 'delta.users[]'],
        id: [{ self: true }],
        type: [{ value: 'account' }],
      },
    },
    handshake: 'dropbox',
    retries: 'hours',
  },
  'aws-sns': {
    title: 'AWS SNS over HTTPS',
    scheme: {
      check: { family: 'rsa-cert', layout: 'sns' },
      eventId: [{ json: 'MessageId' }],
      eventType: [{ json: 'Type' }],
    },
    needs: ['topics'],
    handshake: 'sns',
    retries: 'hours',
    toleranceSeconds: 3_600,
  },
  okta: {
    title: 'Okta event hooks',
    scheme: {
      check: { family: 'token', from: { header: 'Authorization' } },
      eventId: [{ json: 'eventId' }],
      eventType: [{ value: 'batch' }],
      items: { at: ['data.events[]'], id: [{ json: 'uuid' }], type: [{ json: 'eventType' }] },
    },
    handshake: 'okta',
    retries: 'hours',
  },
  auth0: {
    title: 'Auth0 log streams',
    scheme: {
      check: { family: 'token', from: { header: 'Authorization' }, prefix: 'Bearer ' },
      eventId: [{ items: true }, { digest: 'body' }],
      eventType: [{ value: 'batch' }],
      items: { at: ['[]'], id: [{ json: 'log_id' }], type: [{ json: 'data.type' }] },
    },
    retries: 'days',
  },
  'ms-graph': {
    title: 'Microsoft Graph',
    scheme: {
      check: { family: 'token', from: { json: 'value[].clientState' } },
      eventId: [{ digest: 'body' }],
      eventType: [{ value: 'batch' }],
      items: {
        at: ['value[]'],
        id: [{ parts: [{ json: 'subscriptionId' }, { json: 'resourceData.id' }, { json: 'changeType' }] }],
        type: [{ json: 'changeType' }],
      },
    },
    handshake: 'microsoft',
    reply: { status: 202 },
    retries: 'hours',
    redact: ['clientState', 'validationTokens'],
  },
  fusionauth: {
    title: 'FusionAuth',
    scheme: {
      check: {
        family: 'jwt-body-hash',
        header: 'X-FusionAuth-Signature-JWT',
        bodyClaim: 'request_body_sha256',
      },
      eventId: [{ json: 'event.id' }],
      eventType: [{ json: 'event.type' }],
    },
    retries: 'none',
    toleranceSeconds: 300,
  },
  // A sender that packs its bodies and signs the packed bytes.
  nylas: {
    title: 'Nylas',
    scheme: {
      check: hmac('X-Nylas-Signature'),
      eventId: [{ json: 'id' }],
      eventType: [{ json: 'type' }],
    },
    handshake: 'dropbox',
    retries: 'hours',
    maxPayloadKb: 1_024,
    encodings: { names: ['gzip'], signed: 'packed' },
  },
};
