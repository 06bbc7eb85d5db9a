import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { expect, it } from 'vitest';

/**
 * The shape of the house, read from the sources as text. Each rule says how to mend what it finds.
 * Tests may reach for anything; only what ships is held to the rules on imports.
 */
const root = join(import.meta.dirname, '..');
const features = ['inbound', 'outbound', 'relay', 'agent', 'admin'];
const layers = [
  ['core'],
  ['signing', 'contracts', 'platform'],
  ['inbound', 'outbound', 'relay', 'agent'],
  ['admin'],
  ['run'],
  ['cli'],
];

type Source = { path: string; code: string; strings: string[]; imports: Import[] };
type Import = { from: string; typeOnly: boolean };

const everyFile = ['src', 'test', 'bench', 'chaos', 'scripts'].flatMap(filesUnder);
const sources = everyFile
  .filter((path) => /^src\/.*\.ts$/.test(path) && !path.endsWith('.test.ts'))
  .map(read);

it('imports go downward only', () => {
  const bad = relativeImports().filter(({ path, target }) => {
    const [from, to] = [partOf(path), partOf(target)];
    return from !== to && !(rank(to) < rank(from));
  });
  expect(
    shown(bad),
    `move the code down, or hand it over as a function from src/run: ${layers.join(' <- ')}`,
  ).toEqual([]);
});

it('features do not import each other, and from outside a feature is its index.ts', () => {
  const bad = relativeImports().filter(({ path, target }) => {
    const [from, to] = [partOf(path), partOf(target)];
    const sideways = features.includes(from) && from !== 'admin';
    return from !== to && features.includes(to) && (sideways || target !== `src/${to}/index.ts`);
  });
  expect(shown(bad), 'export it from the index.ts of the feature and import that').toEqual([]);
});

it('core imports nothing, signing only core and what computes: node:crypto, buffer, net (address lists), zlib (a checksum)', () => {
  const allowed: Record<string, RegExp> = {
    core: /^\.\/[^/]+$/,
    signing: /^(\.|node:(crypto|buffer|net|zlib)$)/,
  };
  const bad = sources.flatMap(({ path, imports }) =>
    imports
      .filter(
        ({ from, typeOnly }) =>
          !(typeOnly && partOf(path) === 'core') && allowed[partOf(path)]?.test(from) === false,
      )
      .map(({ from }) => ({ path, target: from })),
  );
  expect(shown(bad), 'take what is needed as an argument').toEqual([]);
});

it('process.env is read in platform/config only', () => {
  const bad = filesWith(
    /\bprocess(\.|\?\.|\[')env\b|\{[^}]*\benv\b[^}]*\} (= process\b|from 'node:process')/,
    /^src\/platform\/config(\/[^/]+)?\.ts$/,
  );
  expect(bad, 'add the setting to src/platform/config and hand its value over').toEqual([]);
});

it('SQL is written in *-store.ts only', () => {
  const bad = sources.filter(({ path, strings }) => !path.endsWith('-store.ts') && strings.some(isSql));
  expect(
    pathsOf(bad),
    'move the statement into a function of a *-store.ts, with its intent as the name',
  ).toEqual([]);
});

it('"now" comes from platform/clock only', () => {
  const bad = filesWith(
    /\bDate\.now\b|\bnew Date(\(\s*\)|\b(?!\s*\())|(?<![\w.]|new )Date\(\s*\)/,
    /^src\/platform\/clock\.ts$/,
  );
  expect(bad, 'take a clock from src/platform/clock.ts as a dependency').toEqual([]);
});

it('outgoing HTTP is sent by platform/guarded-fetch only', () => {
  const direct = /(?<![\w.])fetch\(|\bglobalThis\.fetch\b|\bhttps?\.(request|get)\(/;
  const imported =
    /\bimport (?!type)[^;]*\b(request|get)\b[^;]*from 'node:https?'|\bimport\b(?! type)[^;]*'undici'/;
  const allowed = /^src\/platform\/(guarded-fetch[^/]*|local-request)\.ts$/;
  const bad = [...new Set([...filesWith(direct, allowed), ...filesWith(imported, allowed)])];
  expect(
    bad,
    'call the guarded fetch of src/platform/guarded-fetch.ts: it checks addresses and bounds',
  ).toEqual([]);
});

it('files have at most 300 lines', () => {
  const long = everyFile.filter((path) => text(path).trimEnd().split('\n').length > 300);
  expect(long, 'split it by step or by thing').toEqual([]);
});

it('files are named in kebab-case after a step or a thing', () => {
  const vague = /(^|-)(utils?|helpers?|common|managers?|services?)$|^types$/;
  const bad = everyFile.filter((path) => {
    const [base = '', ...endings] = posix.basename(path).split('.');
    return (
      !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(base) ||
      endings.some((part) => !/^[a-z0-9]+$/.test(part)) ||
      vague.test(base)
    );
  });
  expect(bad, 'name it by its verb (receive.ts) or its noun (journal-store.ts)').toEqual([]);
});

function filesUnder(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => `${folder}/${file}`)
    .filter((path) => /\.m?ts$|\.mjs$/.test(path));
}

function text(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** Comments are cut out: they may speak of anything. Strings are kept, and listed. */
function read(path: string): Source {
  const strings: string[] = [];
  const token = /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g;
  const code = text(path).replace(token, (_, string?: string) => {
    if (string) strings.push(string.slice(1, -1));
    return string ?? ' ';
  });
  const statement = /\b(?:import|export)\s+(type\s+)?(?:[^'";]*?\bfrom\s*)?'([^']+)'|\bimport\(\s*'([^']+)'/g;
  const imports = [...code.matchAll(statement)].map((m) => ({
    from: m[2] ?? m[3] ?? '',
    typeOnly: Boolean(m[1]),
  }));
  return { path, code, strings, imports };
}

/** A statement's beginning, close enough not to take a sentence ("Select a source") for one. */
function isSql(string: string): boolean {
  const beginning = string.replace(/^(\s|--[^\n]*\n)*/, '');
  return [
    /^select\s+(\*|\d|\$|'|\(|distinct\b|case\b|exists\b|[\w.]+\(|[\w."]+\s*,|[\w."]+::|[\w."]+\s+(as|from)\s)/i,
    /^(insert\s+into|delete\s+from|truncate(\s+table)?)\s+["\w.]+\s*($|[;(]|values|select|where|using|as|from|default)/i,
    /^(insert\s+into|delete\s+from)\s+[\w.]+_\w+/i,
    /^update\s+(only\s+)?[\w."$]+(\s+(as\s+)?\w+)?\s+set\s+([\w."]+\s*=|\(|\$)/i,
    /^with\s+(recursive\s+)?\w+\s*(\([^)]*\)\s*)?as\s+((not\s+)?materialized\s*)?\(/i,
    /^(create|alter|drop)\s+(or\s+replace\s+)?(unique\s+|temp\w*\s+|unlogged\s+)?(table|index|database|role|user|schema|type|extension|function|trigger|sequence|view|domain)\s+["\w$]/i,
    /^set\s+(local|session)\s+\w|^set\s+([\w.]+\s*=\s|\w+_\w+\s+to\s+['\d$])|^(un)?listen\s+\w+$|^notify\s+\w+(,|$)|^set_config\(|^lock\s+table\b/i,
  ].some((pattern) => pattern.test(beginning));
}

function relativeImports(): { path: string; target: string }[] {
  return sources.flatMap(({ path, imports }) =>
    imports
      .filter(({ from }) => from.startsWith('.'))
      .map(({ from }) => ({ path, target: posix.join(dirname(path), from) })),
  );
}

/** src/inbound/receive.ts -> inbound; src/index.ts and the other subpath exports stand above everything. */
function partOf(path: string): string {
  const [, part = '', file] = path.split('/');
  return file === undefined ? 'top' : part;
}

/** A folder that is in no layer ranks nowhere, so every import of it fails until it is given its place. */
function rank(part: string): number {
  if (part === 'top') return layers.length;
  const found = layers.findIndex((layer) => layer.includes(part));
  return found < 0 ? Number.NaN : found;
}

function filesWith(pattern: RegExp, home: RegExp): string[] {
  return pathsOf(sources.filter(({ path, code }) => !home.test(path) && pattern.test(code)));
}

function pathsOf(found: Source[]): string[] {
  return found.map(({ path }) => path);
}

function shown(found: { path: string; target: string }[]): string[] {
  return found.map(({ path, target }) => `${path} imports ${target}`);
}
