import { readFileSync, statSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import { AppError } from '../core/errors.ts';
import { failureOfModule, loadUserModule, messageOf } from './user-module.ts';

/** The environment of the process. This module is the only one that reads it. */
export const environment: Readonly<Record<string, string | undefined>> = process.env;

/** Something wrong with the configuration: where, and what to do about it. */
export type ConfigProblem = { readonly path: string; readonly message: string };

/** The files that are looked for in the working folder, in this order. */
export const configFileNames = [
  'posthorn.yaml',
  'posthorn.yml',
  'posthorn.json',
  'posthorn.js',
  'posthorn.mjs',
  'posthorn.ts',
];

/**
 * The configuration file: `--config`, else POSTHORN_CONFIG, else the first one in the working folder.
 * Throws CONFIG_NOT_FOUND with an example where there is none.
 */
export function findConfigFile(flag: string | undefined, workingFolder = process.cwd()): string {
  const named = flag ?? (environment.POSTHORN_CONFIG || undefined);
  if (named !== undefined) {
    const path = resolve(workingFolder, named);
    const problem = fileProblem(path);
    if (problem === undefined) return path;
    const origin = flag === undefined ? 'POSTHORN_CONFIG' : '--config';
    throw new AppError('CONFIG_NOT_FOUND', `${origin} ${problem}.`);
  }
  const found = configFileNames
    .map((name) => resolve(workingFolder, name))
    .find((path) => fileProblem(path) === undefined);
  if (found !== undefined) return found;
  throw new AppError(
    'CONFIG_NOT_FOUND',
    `No configuration: no posthorn.yaml (or .json, .js, .mjs, .ts) in ${workingFolder}, and neither --config nor POSTHORN_CONFIG names one.\n${exampleConfig}`,
  );
}

/** Why a path is not that of a file, as an ending of "<what names it> ..."; undefined if it is. */
export function fileProblem(path: string): string | undefined {
  try {
    return statSync(path).isDirectory() ? `names ${path}, which is a folder; name a file` : undefined;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    return code === 'EACCES'
      ? `names ${path}, which cannot be reached; let the user of posthorn into the folders above it`
      : `names ${path}, but there is no such file`;
  }
}

const exampleConfig = `Write a posthorn.yaml such as:

  sources:
    github:
      scheme: github
      secretFile: secrets/github    # the secret that you give GitHub, in a file of its own
  handlers:
    - { name: app, module: ./handlers.js }`;

/**
 * Reads a configuration file into an unknown value. JSON goes through the YAML parser, since JSON.parse hides
 * duplicate keys. Throws CONFIG_INVALID with every problem of its syntax.
 */
export async function readConfigFile(path: string): Promise<unknown> {
  const extension = extname(path).toLowerCase();
  if (['.js', '.mjs', '.ts'].includes(extension)) return loadModule(path);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw configInvalid(path, [{ path: '', message: `cannot be read (${(cause as Error).message})` }]);
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
  if (document.errors.length > 0) {
    const problems = document.errors.map((error) => {
      const { line, col } = lines.linePos(error.pos[0]);
      return { path: `line ${line}, column ${col}`, message: error.message };
    });
    throw configInvalid(path, problems);
  }
  try {
    return document.toJS({ maxAliasCount: 100 }) ?? {};
  } catch (cause) {
    throw configInvalid(path, [{ path: '', message: `cannot be read: ${messageOf(cause)}` }], cause);
  }
}

async function loadModule(path: string): Promise<unknown> {
  try {
    const { default: value } = await loadUserModule(path);
    if (value === undefined)
      throw new Error('it has no default export; write: export default { sources: { ... } }');
    return value;
  } catch (cause) {
    const { place, message } = failureOfModule(path, cause);
    const where = place === path ? '' : ` (${place})`;
    throw configInvalid(path, [{ path: '', message: `cannot be loaded: ${message}${where}` }], cause);
  }
}

/** Parses a value with a schema; all problems come back at once, in the order of the file. */
export function parseConfig<S extends z.ZodType>(
  schema: S,
  value: unknown,
): { value: z.output<S>; problems: [] } | { value?: undefined; problems: ConfigProblem[] } {
  try {
    const result = schema.safeParse(value);
    if (result.success) return { value: result.data, problems: [] };
    return { problems: problemsOf(result.error.issues, { value, path: [] }) };
  } catch (error) {
    // A configuration that is code may throw while it is looked at.
    return { problems: [{ path: '', message: `cannot be read: ${messageOf(error)}` }] };
  }
}

/** One error that lists every problem, each on a line of its own with path and mend. */
export function configInvalid(file: string, problems: readonly ConfigProblem[], cause?: unknown): AppError {
  const shown = problems.slice(0, mostShownProblems);
  const lines = shown.map(({ path, message }) => `  ${path === '' ? 'the file' : path}: ${message}`);
  if (problems.length > shown.length) lines.push(`  and ${problems.length - shown.length} more`);
  const count = problems.length === 1 ? 'one problem' : `${problems.length} problems`;
  return new AppError('CONFIG_INVALID', `${file} has ${count}:\n${lines.join('\n')}`, { cause });
}

/** More are the echo of one mistake, such as a bracket that was never closed. */
const mostShownProblems = 100;

/** `['sources', 'a.b', 0]` as `sources."a.b"[0]`. */
export function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((key) =>
      typeof key === 'number'
        ? `[${key}]`
        : /^[\w-]+$/.test(String(key))
          ? `.${String(key)}`
          : `."${String(key)}"`,
    )
    .join('')
    .replace(/^\./, '');
}

/** Where the judgement of a union goes on: the value as a whole, and the path to the part that is judged. */
type Judged = { readonly value: unknown; readonly path: readonly PropertyKey[] };

function problemsOf(issues: readonly z.core.$ZodIssue[], judged: Judged): ConfigProblem[] {
  return issues.filter((issue) => !isEcho(issue, issues)).flatMap((issue) => problemsOfOne(issue, judged));
}

/** What is of the wrong kind is not measured as well: a list has a length, too. */
function isEcho(issue: z.core.$ZodIssue, issues: readonly z.core.$ZodIssue[]): boolean {
  const at = pathText(issue.path);
  const isMeasure = issue.code === 'too_small' || issue.code === 'too_big';
  return isMeasure && issues.some((other) => other.code === 'invalid_type' && pathText(other.path) === at);
}

function problemsOfOne(issue: z.core.$ZodIssue, { value, path: above }: Judged): ConfigProblem[] {
  const path = [...above, ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      path: pathText([...path, key]),
      message: 'is not a known key; correct its spelling or remove it (known keys: docs/configuration.md)',
    }));
  }
  if (issue.code === 'invalid_union') {
    const branches = issue.errors.map((issues) => problemsOf(issues, { value, path }));
    const deepest = branches.filter((branch) => branch.length > 0).sort((a, b) => reach(b) - reach(a))[0];
    if (deepest?.some((problem) => problem.path !== pathText(path))) return deepest;
  }
  if (issue.code === 'invalid_key')
    return [{ path: pathText(path), message: issue.issues[0]?.message ?? issue.message }];
  return [{ path: pathText(path), message: `${absence(issue, valueAt(value, path))}${plainMessage(issue)}` }];
}

/** A key that is not there, or has nothing behind it, is not merely wrong. */
function absence(issue: z.core.$ZodIssue, given: unknown): string {
  if (!['invalid_type', 'invalid_union', 'invalid_value'].includes(issue.code)) return '';
  if (given === undefined) return 'is missing; it ';
  return given === null ? 'has no value; it ' : '';
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (at as Record<PropertyKey, unknown> | null | undefined)?.[key],
    value,
  );
}

/** Where a schema brings no sentence of its own. */
function plainMessage(issue: z.core.$ZodIssue): string {
  if (issue.code === 'too_small' && issue.message.startsWith('Too small') && issue.origin === 'array')
    return 'must not be empty';
  if (issue.code !== 'invalid_type' || !issue.message.startsWith('Invalid input')) return issue.message;
  return issue.expected === 'object'
    ? 'must be a group of keys, each on a line of its own'
    : `must be a ${issue.expected}`;
}

/** How far into the value the branch of a union got before it failed; the furthest one is what was meant. */
function reach(problems: readonly ConfigProblem[]): number {
  return Math.max(...problems.map((problem) => problem.path.length));
}
