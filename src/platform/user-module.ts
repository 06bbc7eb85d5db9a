import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { createJiti } from 'jiti';

/** Loads a JavaScript or TypeScript module of the user's. Rejects with whatever it throws: see `failureOfModule`. */
export async function loadUserModule(path: string): Promise<{ default?: unknown }> {
  return path.endsWith('.ts')
    ? createJiti(import.meta.url).import<{ default?: unknown }>(path)
    : ((await import(pathToFileURL(path).href)) as { default?: unknown });
}

/** What went wrong in a module of the user's, and where: `file:line` as far as that is known, else the module itself. */
export function failureOfModule(path: string, thrown: unknown): { place: string; message: string } {
  const found = placeInStack(thrown) ?? placeOfImport(thrown);
  if (found !== undefined) return { place: found, message: messageOf(thrown) };
  if (!(thrown instanceof SyntaxError)) return { place: path, message: messageOf(thrown) };
  const line = lineOfSyntaxError(path);
  return line === undefined
    ? { place: path, message: `${messageOf(thrown)}, in a module that it imports` }
    : { place: `${path}:${line}`, message: messageOf(thrown) };
}

/** What was thrown, as a text: a module of the user's may throw anything. */
export function messageOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return `it threw ${typeof thrown === 'string' ? thrown : typeof thrown}`;
  // Behind it come the files that asked for a missing module, or the place that jiti names.
  return thrown.message.split(/\nRequire stack:|\s+\n \//)[0] as string;
}

const ownFolder = fileURLToPath(new URL('../', import.meta.url));

/** The first file that is neither Posthorn's, nor Node's, nor of a package. */
function placeInStack(thrown: unknown): string | undefined {
  const stack = thrown instanceof Error ? String(thrown.stack) : '';
  for (const line of stack.split('\n')) {
    const [, where, number] = /(?:^|[\s(])((?:file:\/\/)?\/.+?):(\d+)(?::\d+)?\)?$/.exec(line) ?? [];
    if (where === undefined) continue;
    const file = where.startsWith('file:') ? fileURLToPath(where) : where;
    if (file.startsWith(ownFolder) || file.includes('/node_modules/') || !existsSync(file)) continue;
    return `${file}:${number}`;
  }
  return undefined;
}

/** Node names the file whose import leads nowhere, without its line: that is where the name stands in quotes. */
function placeOfImport(thrown: unknown): string | undefined {
  const [, missing = '', file = ''] =
    /^Cannot find (?:package|module) '([^']+)' imported from (.+)$/m.exec(messageOf(thrown)) ?? [];
  if (!existsSync(file)) return undefined;
  const name = missing.split('/').at(-1) as string;
  const at = readFileSync(file, 'utf8')
    .split('\n')
    .findIndex((line) => line.includes(`${name}'`) || line.includes(`${name}"`));
  return at < 0 ? file : `${file}:${at + 1}`;
}

/** The error of an import holds no place (Node shows it for an uncaught one alone), so Node is asked by itself. */
function lineOfSyntaxError(path: string): number | undefined {
  const args = ['--check', '--input-type=module'];
  const { stderr } = spawnSync(process.execPath, args, { input: readFileSync(path), timeout: 10_000 });
  const line = /^\[stdin\]:(\d+)$/m.exec(String(stderr))?.[1];
  return line === undefined ? undefined : Number(line);
}
