import { parse } from 'node:querystring';
import * as octokit from '@octokit/webhooks-methods';
import { verifySlackRequest } from '@slack/bolt';
import { Webhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { Webhook as SvixWebhook } from 'svix';
import twilio from 'twilio';
import { describe, expect, it } from 'vitest';
import type { Envelope } from '../core/envelope.ts';
import { compileScheme, type Provider, providers, sign, verify } from './index.ts';

/** Whole seconds of the real time, with which the libraries compare. */
const now = Math.floor(Date.now() / 1000) * 1000;
const seconds = now / 1000;
const url = 'https://hooks.example.com/api/v1/webhooks/shop';
const id = 'msg_2Lml0xXZ';
const stripeSecret = 'whsec_of_the_test_0123456789abcdef';
const githubSecret = "It's a Secret to Everybody 🦊";
const twilioSecret = '12345678901234567890123456789012';
const slackSecret = '8f742231b10e8888abcd99yyyzzz85a5';
const { webhooks } = new Stripe('sk_test_posthorn');

/** What a library reads of a request: the text of its body, and its headers in lower case. */
type Received = { readonly text: string; readonly headers: Record<string, string>; readonly query: string };
type Sent = { readonly headers: Record<string, string>; readonly query?: string };
type Library = {
  readonly slug: string;
  readonly secret: string;
  /** The request that the library makes of a body; bolt only verifies. */
  readonly sends?: (text: string, isForm: boolean) => Sent | Promise<Sent>;
  /** Throws, or is false, where the library refuses. */
  readonly accepts: (received: Received) => unknown;
  readonly takesForms: boolean;
};

function standard(slug: string, prefix: string, library: typeof Webhook | typeof SvixWebhook): Library {
  const secret = `whsec_${Buffer.from('a key of 32 bytes, of this test.').toString('base64')}`;
  const webhook = new library(secret);
  return {
    slug,
    secret,
    sends: (text) => ({
      headers: {
        [`${prefix}-id`]: id,
        [`${prefix}-timestamp`]: String(seconds),
        [`${prefix}-signature`]: webhook.sign(id, new Date(now), text),
      },
    }),
    // What the library answers is the parsed body, which may be anything, also false.
    accepts: ({ text, headers }) => [webhook.verify(text, headers)],
    takesForms: false,
  };
}

const libraries: Record<string, Library> = {
  stripe: {
    slug: 'stripe',
    secret: stripeSecret,
    sends: (payload) => ({
      headers: {
        'stripe-signature': webhooks.generateTestHeaderString({
          payload,
          secret: stripeSecret,
          timestamp: seconds,
        }),
      },
    }),
    accepts: ({ text, headers }) => [
      webhooks.constructEvent(text, headers['stripe-signature'] ?? '', stripeSecret, 300),
    ],
    takesForms: false,
  },
  '@octokit/webhooks-methods': {
    slug: 'github',
    secret: githubSecret,
    sends: async (text) => ({
      headers: { 'x-hub-signature-256': await octokit.sign(githubSecret, text) },
    }),
    accepts: ({ text, headers }) => octokit.verify(githubSecret, text, headers['x-hub-signature-256'] ?? ''),
    takesForms: true,
  },
  svix: standard('resend', 'svix', SvixWebhook),
  standardwebhooks: standard('standard-webhooks', 'webhook', Webhook),
  twilio: {
    slug: 'twilio',
    secret: twilioSecret,
    sends: (text, isForm) => {
      const query = isForm ? 'shop=1&q=%27a+b' : `bodySHA256=${twilio.getExpectedBodyHash(text)}`;
      const signature = twilio.getExpectedTwilioSignature(
        twilioSecret,
        `${url}?${query}`,
        isForm ? parse(text) : {},
      );
      return { headers: { 'x-twilio-signature': signature }, query };
    },
    accepts: ({ text, headers, query }) => {
      const signature = headers['x-twilio-signature'] ?? '';
      const whole = query === '' ? url : `${url}?${query}`;
      return query.includes('bodySHA256')
        ? twilio.validateRequestWithBody(twilioSecret, signature, whole, text)
        : twilio.validateRequest(twilioSecret, signature, whole, { ...parse(text) });
    },
    takesForms: true,
  },
  '@slack/bolt': {
    slug: 'slack',
    secret: slackSecret,
    accepts: ({ text, headers }) => {
      verifySlackRequest({
        signingSecret: slackSecret,
        body: text,
        headers: {
          'x-slack-signature': headers['x-slack-signature'] ?? '',
          'x-slack-request-timestamp': Number(headers['x-slack-request-timestamp']),
        },
        nowMilliseconds: now,
      });
      return true;
    },
    takesForms: true,
  },
};

const documents = [
  '{"id":"evt_1","type":"thing.made"}',
  '{"name":"Zoë 🦊👩‍👩‍👧", "n":1.0,\r\n\t"empty":"", "e\u0301":"\u00e9"}\r\n',
  '  {"a":{},"b":[],"a":null,"big":12345678901234567890,"x":"\\ud800\\u0000"}\n\n',
  '""',
];
const forms = [
  'MessageSid=SM1&Body=hello',
  'Body=%F0%9F%A6%8A+Zo%C3%AB&Empty=&From=%2B15551234&Bare',
  'Media=b&Media=a&Media=b&media=c&Body=one%0D%0Atwo',
  'payload=%7B%22a%22%3A%22%26%3D%22%7D&%D0%B6=%D1%8F&z=%20',
  'Body=one\r\n🦊',
];

const json = 'application/json';
const form = 'application/x-www-form-urlencoded';
const bodies = [
  ...documents.map((text) => ({ text, type: json })),
  ...forms.map((text) => ({ text, type: form })),
];
const cases = Object.entries(libraries).flatMap(([name, library]) =>
  bodies
    .filter(({ type }) => type === json || library.takesForms)
    .map((body) => ({ name, library, ...body, shown: JSON.stringify(body.text) })),
);

function schemeOf({ slug }: Library) {
  return compileScheme((providers[slug] as Provider).scheme, { publicUrl: url });
}

function isOurs(library: Library, envelope: Envelope): boolean {
  return verify(envelope, schemeOf(library), [library.secret], { toleranceSeconds: 300 }).ok;
}

async function isTheirs({ accepts }: Library, received: Received): Promise<boolean> {
  try {
    return Boolean(await accepts(received));
  } catch {
    return false;
  }
}

/** The same bytes, with one bit of one of them turned, each in its turn. */
function flipped(bytes: Buffer): Buffer[] {
  return [...bytes].map((byte, at) => {
    const other = Buffer.from(bytes);
    other[at] = byte ^ 1;
    return other;
  });
}

const signing = cases.flatMap(({ library, ...rest }) =>
  library.sends === undefined ? [] : [{ ...rest, library, sends: library.sends }],
);

describe.each(signing)('$name signs $shown', ({ library, sends, text, type }) => {
  const made = async (): Promise<Envelope> => {
    const { headers, query = '' } = await sends(text, type === form);
    const rawHeaders = ['Content-Type', type, ...Object.entries(headers).flat()];
    return { method: 'POST', query, rawHeaders, body: Buffer.from(text), receivedAt: now };
  };

  it('[SIG-14] and verify accepts', async () => {
    expect(isOurs(library, await made())).toBe(true);
  });

  it('[SIG-14] and verify refuses it with any one byte of its body, or of its signature, changed', async () => {
    const envelope = await made();
    for (const body of flipped(envelope.body))
      expect(isOurs(library, { ...envelope, body }), body.toString()).toBe(false);
    const signature = envelope.rawHeaders.at(-1) as string;
    for (const bytes of flipped(Buffer.from(signature))) {
      const rawHeaders = [...envelope.rawHeaders.slice(0, -1), bytes.toString()];
      expect(isOurs(library, { ...envelope, rawHeaders }), bytes.toString()).toBe(false);
    }
  });
});

describe.each(cases)('of what we sign, $shown, $name', ({ library, text, type }) => {
  const made = sign(
    { body: Buffer.from(text), headers: { 'content-type': type }, query: type === form ? 'shop=1' : '' },
    schemeOf(library),
    { key: library.secret, id, timestamp: now },
  );
  const headers = Object.fromEntries(
    Object.entries(made.headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const received = { text: made.body.toString(), headers, query: made.query };

  it('[SIG-14] accepts the signature', async () => {
    expect(await isTheirs(library, received)).toBe(true);
  });

  it('[SIG-14] refuses it with any one byte of the body changed', async () => {
    for (const body of flipped(made.body))
      expect(await isTheirs(library, { ...received, text: body.toString() }), body.toString()).toBe(false);
  });
});
