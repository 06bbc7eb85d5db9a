import { z } from 'zod';
import { sourceCodePattern } from '../core/text.ts';
import {
  createAddressPolicy,
  judgeTarget,
  mostOpenNetworks,
  openNetworkProblems,
  targetProblemTexts,
} from '../platform/address-policy.ts';

/** The list `handlers` of the configuration file: each is a module, an http forward, or a command. */

export const mostTimeoutMs = 86_400_000;
const wholeNumber = (least: number, most: number) =>
  z
    .int('must be a whole number')
    .min(least, `must be at least ${least}`)
    .max(most, `must be at most ${most}`);
const timeoutMs = wholeNumber(1, mostTimeoutMs).default(60_000);
const text = (what: string) => z.string(`must be ${what}`).min(1, 'must not be empty');
const withoutNul = (value: string) => !value.includes('\0');

const httpSchema = z
  .strictObject({
    url: text('the URL that gets the webhooks'),
    secretFile: z
      .union(
        [text('the path of a file'), z.array(text('the path of a file')).min(1).max(2)],
        'must be the path of a file, or of two while a secret rotates',
      )
      .optional(),
    timeoutMs,
    allowPrivate: z
      .array(z.string('must be a network such as 10.0.0.0/8'), 'must be a list of networks')
      .max(mostOpenNetworks, `must be at most ${mostOpenNetworks} networks`)
      .default([]),
  })
  .superRefine(({ url, allowPrivate }, context) => {
    const problems = openNetworkProblems(allowPrivate);
    for (const message of problems) context.addIssue({ code: 'custom', path: ['allowPrivate'], message });
    if (problems.length > 0) return;
    const judged = judgeTarget(url, handlerPolicy(allowPrivate));
    if ('problem' in judged)
      context.addIssue({ code: 'custom', path: ['url'], message: targetProblemTexts[judged.problem] });
  });

const execSchema = z.strictObject({
  command: z
    .array(
      z.string('must be a text').refine(withoutNul, 'must not hold NUL'),
      'must be a list: a program and its arguments',
    )
    .min(1, 'must begin with a program')
    .refine(([program]) => program !== '', 'must begin with a program'),
  timeoutMs,
  env: z
    .record(
      z
        .string()
        .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is no name of an environment variable')
        .refine((name) => !name.startsWith('WEBHOOK_'), 'is kept for the webhook itself'),
      z.string('must be a text; put numbers in quotes').refine(withoutNul, 'must not hold NUL'),
      'must map names of environment variables to texts',
    )
    .default({}),
});

const handlerSchema = z
  .strictObject({
    name: z
      .string('must be a text')
      .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'must be 1 to 64 of A-Z, a-z, 0-9, ., - and _'),
    module: text(
      'the path of a module whose default export is (on) => { on(source, pattern, handler) }',
    ).optional(),
    source: z.string('must be the code of a source').regex(sourceCodePattern, 'is no source code').optional(),
    events: z
      .array(text('a pattern of event types'), 'must be a list of patterns such as push or pull_request.*')
      .min(1, 'must name a pattern; leave it out for all events')
      .optional(),
    concurrency: wholeNumber(1, 1_000).optional(),
    maxDeaths: wholeNumber(1, 1_000_000).optional(),
    http: httpSchema.optional(),
    exec: execSchema.optional(),
  })
  .superRefine((handler, context) => {
    const problem = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
    const kinds = (['module', 'http', 'exec'] as const).filter((kind) => handler[kind] !== undefined);
    if (kinds.length !== 1) {
      problem([], 'must have one of module, http and exec');
    } else if (handler.module !== undefined) {
      for (const key of ['source', 'events', 'concurrency', 'maxDeaths'] as const)
        if (handler[key] !== undefined) problem([key], 'is for http and exec; a module says it in on(...)');
    } else if (handler.source === undefined) {
      problem(['source'], 'must be the code of a source');
    }
  });

/** What an http handler may reach: loopback over http, and the private networks that it opens (IN-17). */
export function handlerPolicy(allowPrivate: readonly string[]) {
  return createAddressPolicy({ openNetworks: [...allowPrivate], allowHttpToOpen: true, allowLoopback: true });
}

export const handlersSchema = z.array(handlerSchema, 'must be a list').superRefine((handlers, context) => {
  handlers.forEach(({ name }, index) => {
    if (handlers.findIndex((other) => other.name === name) < index) {
      context.addIssue({
        code: 'custom',
        path: [index, 'name'],
        message: `is used twice (${name}); give this handler another name`,
      });
    }
  });
});

export type HandlerConfig = z.output<typeof handlerSchema>;
export type HttpConfig = z.output<typeof httpSchema>;
export type ExecConfig = z.output<typeof execSchema>;
