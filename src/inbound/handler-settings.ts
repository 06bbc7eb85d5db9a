import { z } from 'zod';
import { sourceCodePattern } from '../core/text.ts';
import {
  createAddressPolicy,
  judgeTarget,
  openableNetworks,
  openNetworkProblems,
  type TargetProblem,
  targetProblemTexts,
} from '../platform/address-policy.ts';

/** The list `handlers` of the configuration file: each is a module, an http forward, or a command. */

export const mostTimeoutMs = 86_400_000;
/** Not z.int, which would end the judgement of the whole entry. */
const wholeNumber = (least: number, most: number) =>
  z
    .number('must be a whole number')
    .refine(Number.isInteger, 'must be a whole number')
    .min(least, `must be at least ${least}`)
    .max(most, `must be at most ${most}`);
const timeoutMs = wholeNumber(1, mostTimeoutMs).default(60_000);
/** Judges also where other parts are wrong, so that one start shows everything: the value is as unsound as it may be. */
const whatever = { when: () => true };
const text = (what: string) => z.string(`must be ${what}`).min(1, 'must not be empty');
const withoutNul = (value: string) => !value.includes('\0');

const commandSchema = z
  .array(
    z.string('must be a text; put numbers in quotes').refine(withoutNul, 'must not hold NUL'),
    'must be a list: a program and its arguments, such as ["./deploy.sh", "--fast"]',
  )
  .refine(beginsWithText, { error: 'must begin with a program', ...whatever });
const secretFileSchema = z.union(
  [
    text('the path of a file'),
    z
      .array(text('the path of a file'))
      .min(1, 'must be the path of a file, or of two while a secret rotates')
      .max(2, 'must be one file, or two while a secret rotates'),
  ],
  'must be the path of a file, or a list of two while a secret rotates',
);
const networksSchema = z
  .array(z.string('must be a network such as 10.0.0.0/8'), 'must be a list of networks such as 10.0.0.0/8')
  .default([]);

const httpSchema = z
  .strictObject({
    url: text('the URL that gets the webhooks'),
    secretFile: secretFileSchema.optional(),
    timeoutMs,
    allowPrivate: networksSchema,
  })
  .superRefine(judgeHttp, whatever);

const execSchema = z.strictObject({
  command: commandSchema,
  timeoutMs,
  env: z
    .record(
      z
        .string()
        .regex(
          /^[A-Za-z_][A-Za-z0-9_]*$/,
          'is no name of an environment variable: letters, digits and _, no digit first',
        )
        .refine(
          (name) => !name.startsWith('WEBHOOK_'),
          'begins with WEBHOOK_, which is kept for the webhook itself; take another name',
        ),
      z
        .string('must be a text; put numbers, true and false in quotes')
        .refine(withoutNul, 'must not hold NUL'),
      'must map names of environment variables to texts',
    )
    .default({}),
});

const handlerSchema = z
  .strictObject({
    name: z
      .string('must be a text that names this handler')
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
  .superRefine(judgeKind, whatever);

/** Exactly one kind, with the keys of that kind. */
function judgeKind(handler: unknown, context: z.RefinementCtx): void {
  if (!isGroup(handler)) return;
  const problem = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
  const kinds = (['module', 'http', 'exec'] as const).filter((kind) => handler[kind] !== undefined);
  if (kinds.length === 0) {
    problem([], 'must say what it is: a module, http or exec');
  } else if (kinds.length > 1) {
    problem([], `is ${kinds.join(' and ')} at once; write a handler for each`);
  } else if (handler.module !== undefined) {
    for (const key of ['source', 'events', 'concurrency', 'maxDeaths'] as const)
      if (handler[key] !== undefined) problem([key], 'is for http and exec; a module says it in on(...)');
  } else if (handler.source === undefined) {
    problem(['source'], 'is missing: the code of the source whose events this handler gets');
  }
}

function judgeHttp(http: unknown, context: z.RefinementCtx): void {
  if (!isGroup(http)) return;
  const networks = textsIn(http.allowPrivate);
  const problems = openNetworkProblems(networks);
  for (const message of problems) context.addIssue({ code: 'custom', path: ['allowPrivate'], message });
  if (typeof http.url !== 'string' || http.url === '') return;
  const isSound = problems.length === 0 && networksSchema.safeParse(http.allowPrivate).success;
  // While the list is wrong, anything may be what it means to open.
  const judged = judgeTarget(http.url, handlerPolicy(isSound ? networks : openableNetworks));
  if ('target' in judged) return;
  const message = `${targetProblemTexts[judged.problem]}${mends[judged.problem] ?? ''}`;
  context.addIssue({ code: 'custom', path: ['url'], message });
}

const mends: Partial<Record<TargetProblem, string>> = {
  parse: '; write it whole, such as https://example.com/hooks',
  scheme: '; http is for loopback and for networks that allowPrivate opens',
  port: '; choose another one',
  name: '; a network of your own is opened with allowPrivate',
  address: '; a network of your own is opened with allowPrivate',
};

/** Judged where the list as a whole is none: that is another problem. */
function beginsWithText(command: unknown): boolean {
  if (!Array.isArray(command)) return true;
  const [program] = command;
  return typeof program === 'string' ? program.trim() !== '' : command.length > 0;
}

function textsIn(value: unknown): string[] {
  return [value].flat().filter((entry) => typeof entry === 'string');
}

function isGroup(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What an http handler may reach: loopback over http, and the private networks that it opens (IN-17). */
export function handlerPolicy(allowPrivate: readonly string[]) {
  return createAddressPolicy({ openNetworks: [...allowPrivate], allowHttpToOpen: true, allowLoopback: true });
}

export const handlersSchema = z
  .array(handlerSchema, 'must be a list')
  .superRefine((handlers: unknown, context) => {
    if (!Array.isArray(handlers)) return;
    const names = handlers.map((handler) => (isGroup(handler) ? handler.name : undefined));
    for (const [index, name] of names.entries()) {
      if (typeof name !== 'string' || names.indexOf(name) === index) continue;
      const message = `is used twice (${name}); give this handler another name`;
      context.addIssue({ code: 'custom', path: [index, 'name'], message });
    }
  }, whatever);

/** The files that an entry names, as far as that part of it is sound. */
export function namedFiles(entry: unknown) {
  const { module, exec, http } = isGroup(entry) ? entry : {};
  const { command, env } = isGroup(exec) ? exec : {};
  const program = Array.isArray(command) ? text('a program').safeParse(command[0]).data : undefined;
  const secrets = isGroup(http) ? [http.secretFile].flat() : [];
  return {
    module: text('a path').safeParse(module).data,
    program: program === undefined || program.trim() === '' || !withoutNul(program) ? undefined : program,
    path: isGroup(env) && typeof env.PATH === 'string' ? env.PATH : undefined,
    secrets: secrets.length > 2 ? [] : textsIn(secrets).filter((named) => named !== ''),
  };
}

export type HandlerConfig = z.output<typeof handlerSchema>;
export type HttpConfig = z.output<typeof httpSchema>;
export type ExecConfig = z.output<typeof execSchema>;
