import { z } from 'zod';
import { sourceCodePattern } from '../core/text.ts';
import { isNetwork } from '../platform/client-address.ts';
import { type HmacDescription, providers, schemeProblems, timeUnits } from '../signing/index.ts';
import { isWebUrl, optionProblems } from './source-options.ts';

/** The parts of the configuration file that inbound reads. Keys that a later version brings are unknown here. */

const header = z.string('must be the name of a header');
const jsonPath = z.string('must be a path in the body, for example data.id').min(1, 'must not be empty');
const oneOrMore = (what: string) =>
  z.union(
    [z.string(`must be ${what}`).min(1, `must be ${what}`), z.array(z.string().min(1)).min(1)],
    `must be ${what}, or a list for rotation`,
  );

const unit = z.enum(timeUnits, 'must be s, ms, iso or date');

export const hmacDescriptionSchema = z
  .strictObject({
    hmac: z.enum(['sha256', 'sha1', 'sha512'], 'must be sha256, sha1 or sha512'),
    key: z.enum(['utf8', 'hex', 'base64'], 'must be utf8, hex or base64').optional(),
    header: header,
    prefix: z.string('must be a text such as "sha256="').optional(),
    list: z.string('must be the separator, such as ","').optional(),
    field: z.string('must be a label such as v1').min(1, 'must not be empty').optional(),
    encoding: z.enum(['hex', 'base64'], 'must be hex or base64'),
    signed: z.string('must be a template such as "{timestamp}.{body}"'),
    timestamp: z
      .union(
        [z.strictObject({ header, unit }), z.strictObject({ field: z.string().min(1), unit })],
        'must be {header, unit} or {field, unit}',
      )
      .optional(),
    eventId: z.union(
      [
        z.strictObject({ header }),
        z.strictObject({ json: jsonPath }),
        z.strictObject({ digest: z.literal('body', 'must be body') }),
      ],
      'must be {header: X-Id}, {json: data.id} or {digest: body}',
    ),
    eventType: z
      .union(
        [
          z.strictObject({ header }),
          z.strictObject({ json: jsonPath }),
          z.strictObject({
            value: z.string().regex(/^[\x20-\x7e]{1,200}$/, 'must be 1 to 200 printable ASCII characters'),
          }),
        ],
        'must be {header: X-Type}, {json: type} or {value: some.type}',
      )
      .optional(),
  })
  .superRefine((description, context) => {
    for (const problem of schemeProblems(description)) {
      context.addIssue({ code: 'custom', path: [...problem.path], message: problem.message });
    }
  });

const schemeName = z.enum(
  Object.keys(providers) as [string, ...string[]],
  `must be one of ${Object.keys(providers).join(', ')}, or describe the scheme: { hmac: sha256, header: X-Signature, encoding: hex, signed: "{body}", eventId: {header: X-Id} }`,
);

const secretPlaces = {
  secretFile: oneOrMore('the path of a file').optional(),
  secretEnv: oneOrMore('the name of an environment variable').optional(),
};

const networks = z
  .array(z.string().refine(isNetwork, 'must be a network such as 10.0.0.0/8'), 'must be a list of networks')
  .min(1, 'must not be empty');

/** A further check beside the signature; all of them must hold. */
const requireSchema = z.union(
  [
    z.strictObject({ ip: networks }),
    z.strictObject({
      basic: z.strictObject(secretPlaces).refine(hasSecret, 'must name secretFile or secretEnv'),
    }),
    z.strictObject({
      token: z
        .strictObject({
          header,
          prefix: z.string('must be a text such as "Bearer "').optional(),
          ...secretPlaces,
        })
        .refine(hasSecret, 'must name secretFile or secretEnv'),
    }),
  ],
  'must be {ip: [network]}, {basic: {secretFile: path}} or {token: {header: X-Token, secretFile: path}}',
);
export type RequireConfig = z.output<typeof requireSchema>;

function hasSecret(named: { secretFile?: unknown; secretEnv?: unknown }): boolean {
  return named.secretFile !== undefined || named.secretEnv !== undefined;
}

const mostPayloadKb = 25_600;

export const sourceSchema = z
  .strictObject({
    scheme: z.preprocess(
      (value) => value,
      z.union([schemeName, hmacDescriptionSchema], 'must be the name of a scheme or a description'),
    ),
    ...secretPlaces,
    verifyTokenFile: z.string('must be the path of a file').min(1, 'must not be empty').optional(),
    verifyTokenEnv: z
      .string('must be the name of an environment variable')
      .min(1, 'must not be empty')
      .optional(),
    publicUrl: z
      .string('must be the URL as registered at the sender')
      .refine(
        isWebUrl,
        'must be the whole URL as registered at the sender, such as https://example.com/api/v1/webhooks/shop',
      )
      .optional(),
    webhookId: z
      .string('must be the id that the sender shows')
      .min(1, 'must not be empty')
      .max(200)
      .optional(),
    topics: z
      .array(
        z
          .string()
          .regex(
            /^arn:aws[a-z-]*:sns:/,
            'must be the ARN of a topic, such as arn:aws:sns:eu-west-1:123456789012:orders',
          ),
      )
      .min(1, 'must not be empty')
      .optional(),
    key: z.enum(['text', 'base64'], 'must be text or base64').optional(),
    networks: networks.optional(),
    require: z.array(requireSchema, 'must be a list of further checks').optional(),
    dedupe: z.enum(['event', 'body'], 'must be event or body').optional(),
    maxPayloadKb: z
      .int('must be a whole number')
      .min(1, 'must be at least 1')
      .max(mostPayloadKb, `must be at most ${mostPayloadKb}`)
      .optional(),
    toleranceSeconds: z
      .int('must be a whole number')
      .min(1, 'must be at least 1')
      .max(86_400, 'must be at most 86400')
      .optional(),
    site: z
      .string('must be a text')
      .min(1, 'must not be empty')
      .max(200, 'must be at most 200 characters')
      .optional(),
  })
  .superRefine((source, context) => {
    for (const { path, message } of optionProblems(source)) {
      context.addIssue({ code: 'custom', path: [path], message });
    }
  });

const sourceCode = z
  .string()
  .regex(
    sourceCodePattern,
    'is no source code: use 1 to 64 of a-z, 0-9, - and _, beginning with a letter or digit',
  );

export const sourcesSchema = z.record(sourceCode, sourceSchema);

/** The group `inbound` of the settings; the names and defaults are those of the settings store that will hold them. */
export const inboundGroupSchema = z.strictObject({
  enabled: z.boolean('must be true or false').default(true),
  allowed_sources: z
    .array(
      z
        .string()
        .refine(
          (entry) => sourceCodePattern.test(entry) || isNetwork(entry),
          'must be a source code or a network such as 10.0.0.0/8',
        ),
      'must be a list of source codes and networks',
    )
    .default([]),
  max_payload_size_kb: z
    .int('must be a whole number')
    .min(1, 'must be at least 1')
    .max(mostPayloadKb, `must be at most ${mostPayloadKb}`)
    .default(256),
  timestamp_tolerance_seconds: z
    .int('must be a whole number')
    .min(1, 'must be at least 1')
    .max(86_400, 'must be at most 86400')
    .default(300),
});

export type SourceConfig = {
  [K in keyof z.output<typeof sourceSchema>]: K extends 'scheme'
    ? string | HmacDescription
    : z.output<typeof sourceSchema>[K];
};
export type InboundGroup = z.output<typeof inboundGroupSchema>;
