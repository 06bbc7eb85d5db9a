import { adyenItems } from '../adyen-item.ts';
import { hmac, type Providers } from './provider.ts';

/** Payments, shops and billing. */
export const paymentProviders: Providers = {
  // The secret is used as the text that is shown, `whsec_` included. Labels but v1 are passed over.
  stripe: {
    title: 'Stripe',
    scheme: {
      check: hmac('Stripe-Signature', {
        list: ',',
        field: 'v1',
        signed: '{timestamp}.{body}',
        timestamp: { field: 't', unit: 's' },
      }),
      eventId: [{ json: 'id' }],
      eventType: [{ json: 'type' }],
    },
    retries: 'days',
    toleranceSeconds: 300,
  },
  // The window is as long as PayPal repeats: it is not known whether a repetition is signed anew.
  paypal: {
    title: 'PayPal',
    scheme: {
      check: { family: 'rsa-cert', layout: 'paypal' },
      eventId: [{ json: 'id' }],
      eventType: [{ json: 'event_type' }],
    },
    needs: ['webhookId'],
    retries: 'days',
    toleranceSeconds: 4 * 86_400,
  },
  square: {
    title: 'Square',
    scheme: {
      check: hmac('x-square-hmacsha256-signature', { encoding: 'base64', signed: '{url}{body}' }),
      eventId: [{ json: 'event_id' }],
      eventType: [{ json: 'type' }],
    },
    needs: ['publicUrl'],
    retries: 'days',
  },
  adyen: {
    title: 'Adyen (standard)',
    scheme: {
      check: { family: 'adyen-item' },
      eventId: [{ items: true }],
      eventType: [{ value: 'batch' }],
      items: {
        at: [adyenItems],
        id: [{ parts: [{ json: 'pspReference' }, { json: 'eventCode' }, { json: 'success' }] }],
        type: [{ json: 'eventCode' }],
      },
    },
    reply: { status: 200, contentType: 'text/plain; charset=utf-8', body: '[accepted]' },
    retries: 'days',
  },
  'adyen-platform': {
    title: 'Adyen (platforms and management)',
    scheme: {
      check: hmac('HmacSignature', { key: 'hex', encoding: 'base64' }),
      eventId: [
        { parts: [{ json: 'data.id' }, { json: 'type' }, { json: 'timestamp' }] },
        { digest: 'body' },
      ],
      eventType: [{ json: 'type' }],
    },
    retries: 'days',
  },
  paddle: {
    title: 'Paddle Billing',
    scheme: {
      check: hmac('Paddle-Signature', {
        list: ';',
        field: 'h1',
        signed: '{timestamp}:{body}',
        timestamp: { field: 'ts', unit: 's' },
      }),
      eventId: [{ json: 'event_id' }],
      eventType: [{ json: 'event_type' }],
    },
    retries: 'days',
    toleranceSeconds: 300,
  },
  razorpay: {
    title: 'Razorpay',
    scheme: {
      check: hmac('X-Razorpay-Signature'),
      eventId: [{ header: 'x-razorpay-event-id' }],
      eventType: [{ json: 'event' }],
    },
    retries: 'days',
  },
  // The outer id is that of the delivery; the event's own is inside.
  'coinbase-commerce': {
    title: 'Coinbase Commerce',
    scheme: {
      check: hmac('X-CC-Webhook-Signature'),
      eventId: [{ json: 'event.id' }],
      eventType: [{ json: 'event.type' }],
    },
    retries: 'days',
  },
  yookassa: {
    title: 'YooKassa',
    scheme: {
      check: {
        family: 'ip',
        networks: [
          '185.71.76.0/27',
          '185.71.77.0/27',
          '77.75.153.0/25',
          '77.75.154.128/25',
          '77.75.156.11/32',
          '77.75.156.35/32',
          '2a02:5180:0:1509::/64',
          '2a02:5180:0:2655::/64',
          '2a02:5180:0:1533::/64',
          '2a02:5180:0:2669::/64',
        ],
      },
      eventId: [{ parts: [{ json: 'event' }, { json: 'object.id' }] }],
      eventType: [{ json: 'event' }],
    },
    retries: 'days',
  },
  // One source for each kind of notice, as each has a URL of its own: nothing in the signed text tells them apart.
  cloudpayments: {
    title: 'CloudPayments',
    scheme: {
      check: hmac('X-Content-HMAC', {
        alsoHeaders: ['Content-HMAC'],
        encoding: 'base64',
        body: 'decoded-form',
      }),
      body: 'json-or-form',
      eventId: [{ json: 'TransactionId' }, { digest: 'body' }],
      eventType: [{ json: 'OperationType' }],
    },
    reply: { status: 200, contentType: 'application/json', body: '{"code":0}' },
    retries: 'days',
  },
  chargebee: {
    title: 'Chargebee',
    scheme: { check: { family: 'basic' }, eventId: [{ json: 'id' }], eventType: [{ json: 'event_type' }] },
    retries: 'days',
  },
  // The id of the event is the same over several subscriptions; the id of the delivery is one subscription's.
  shopify: {
    title: 'Shopify',
    scheme: {
      check: hmac('X-Shopify-Hmac-Sha256', { alsoHeaders: ['shopify-hmac-sha256'], encoding: 'base64' }),
      eventId: [{ header: 'X-Shopify-Webhook-Id' }, { header: 'shopify-webhook-id' }],
      eventType: [{ header: 'X-Shopify-Topic' }, { header: 'shopify-topic' }],
    },
    retries: 'hours',
  },
  // Its delivery id is new at each try.
  woocommerce: {
    title: 'WooCommerce',
    scheme: {
      check: hmac('X-WC-Webhook-Signature', { key: 'html', encoding: 'base64' }),
      eventId: [
        { parts: [{ header: 'X-WC-Webhook-ID' }, { header: 'X-WC-Webhook-Topic' }, { digest: 'body' }] },
        { digest: 'body' },
      ],
      eventType: [{ header: 'X-WC-Webhook-Topic' }],
    },
    handshake: 'woocommerce',
    retries: 'none',
  },
};
