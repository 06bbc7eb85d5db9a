import { hmac, type Providers } from './provider.ts';

/** E-mail, and senders that sign as Standard Webhooks. */
export const mailProviders: Providers = {
  sendgrid: {
    title: 'SendGrid Event Webhook',
    scheme: {
      check: {
        family: 'ecdsa',
        header: 'X-Twilio-Email-Event-Webhook-Signature',
        encoding: 'base64',
        signed: '{timestamp}{body}',
        timestamp: { header: 'X-Twilio-Email-Event-Webhook-Timestamp', unit: 's' },
      },
      eventId: [{ items: true }, { digest: 'body' }],
      eventType: [{ value: 'batch' }],
      items: { at: ['[]'], id: [{ json: 'sg_event_id' }], type: [{ json: 'event' }] },
    },
    retries: 'days',
    toleranceSeconds: 86_400,
  },
  // Its window is as long as it repeats: it is not known whether a repetition is signed anew.
  mailgun: {
    title: 'Mailgun',
    scheme: {
      check: { family: 'mailgun-body' },
      body: 'multipart',
      eventId: [{ json: 'event-data.id' }, { json: 'token' }],
      eventType: [{ json: 'event-data.event' }, { value: 'route' }],
    },
    retries: 'hours',
    toleranceSeconds: 43_200,
    maxPayloadKb: 25_600,
    redact: ['signature'],
  },
  postmark: {
    title: 'Postmark',
    scheme: {
      check: { family: 'basic' },
      eventId: [
        { parts: [{ json: 'RecordType' }, { json: 'ID' }] },
        { parts: [{ json: 'RecordType' }, { json: 'MessageID' }, { json: 'ReceivedAt' }] },
        { parts: [{ json: 'MessageID' }, { json: 'RecordType' }] },
        { json: 'MessageID' },
      ],
      eventType: [{ json: 'RecordType' }, { value: 'Inbound' }],
    },
    retries: 'hours',
  },
  // Resend, Clerk and whoever else sends through Svix.
  resend: {
    title: 'Resend, Clerk and other senders through Svix',
    scheme: {
      check: { family: 'standard', headers: ['svix', 'webhook'], key: 'base64' },
      eventId: [{ header: 'svix-id' }, { header: 'webhook-id' }],
      eventType: [{ json: 'type' }],
    },
    retries: 'days',
    toleranceSeconds: 300,
  },
  'standard-webhooks': {
    title: 'Standard Webhooks',
    scheme: {
      check: { family: 'standard', headers: ['webhook'] },
      eventId: [{ header: 'webhook-id' }],
      eventType: [{ json: 'type' }],
    },
    retries: 'days',
    toleranceSeconds: 300,
  },
  openai: {
    title: 'OpenAI, Replicate and Recall.ai',
    scheme: {
      check: { family: 'standard', headers: ['webhook'] },
      eventId: [{ header: 'webhook-id' }],
      eventType: [{ json: 'type' }],
    },
    retries: 'days',
    toleranceSeconds: 300,
  },
  elevenlabs: {
    title: 'ElevenLabs',
    scheme: {
      check: hmac('ElevenLabs-Signature', {
        list: ',',
        field: 'v0',
        signed: '{timestamp}.{body}',
        timestamp: { field: 't', unit: 's' },
      }),
      eventId: [
        { parts: [{ json: 'type' }, { json: 'data.conversation_id' }] },
        { parts: [{ json: 'type' }, { json: 'data.id' }] },
        { digest: 'body' },
      ],
      eventType: [{ json: 'type' }],
    },
    retries: 'none',
    toleranceSeconds: 1_800,
    maxPayloadKb: 25_600,
  },
};
