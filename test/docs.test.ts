import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { conformance, testNames } from '../scripts/lib/conformance.mjs';
import { errorCodes } from '../src/core/errors.ts';
import { sourcePages } from '../src/inbound/guides/page.ts';

/** What the documents say, held against what is there, both ways. */
const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const packageJson = JSON.parse(read('package.json'));

it('[OPS-9] docs/sources has a current page for every sender, and no other', () => {
  const pages = sourcePages();
  const present = readdirSync(join(root, 'docs/sources'));
  expect(present.sort()).toEqual([...pages.keys()].sort());
  const outdated = present.filter((name) => read(`docs/sources/${name}`) !== pages.get(name));
  expect(outdated, 'run `npm run pages` and commit it').toEqual([]);
});

describe('conformance', () => {
  it('docs/conformance.md is current', () => {
    expect(
      read('docs/conformance.md') === conformance(root).markdown,
      'run `npm run conformance` and commit it',
    ).toBe(true);
  });

  it('every id in the name of a test stands in docs/requirements.json', () => {
    const { requirements, tests } = conformance(root);
    const unknown = tests.filter(({ id }) => !(id in requirements)).map(({ id, file }) => `${id} in ${file}`);
    expect(unknown, 'correct the id, or write its sentence into docs/requirements.json').toEqual([]);
  });

  it('every requirement has a test', () => {
    const { requirements, tests } = conformance(root);
    const proven = new Set(tests.map(({ id }) => id));
    const missing = Object.keys(requirements).filter((id) => !proven.has(id));
    expect(missing, 'write a test with the id in brackets in its name').toEqual([]);
  });

  it('names are found behind it, it.each, it.runIf and describe, but not behind it.skip', () => {
    const calls = [
      "it('one', () => {",
      "it.each([['x)', 1], [\"it's\", 2]])('two %s', () => {",
      "it.runIf(hasRoot())('three', () => {",
      "describe(\n  'four',",
      "it.skip('five', () => {",
      "submit('six')",
    ];
    expect(testNames(calls.join('\n'))).toEqual(['one', 'two %s', 'three', 'four']);
  });
});

it('every dependency has its reason in docs/dependencies.md, and nothing else stands there', () => {
  const { dependencies, optionalDependencies, devDependencies } = packageJson;
  const declared = Object.keys({ ...dependencies, ...optionalDependencies, ...devDependencies });
  expect(firstCells('docs/dependencies.md').sort(), 'one row a package').toEqual(declared.sort());
});

it('every error code has its row in docs/errors.md, with its exit code and status, and nothing else stands there', () => {
  const declared = Object.entries(errorCodes).map(
    ([code, { exitCode, status }]) => `${code} ${exitCode} ${status}`,
  );
  const rows = tableRows('docs/errors.md').map(([code, exit, status]) => `${code} ${exit} ${status}`);
  expect(rows.sort(), 'one row a code of src/core/errors.ts').toEqual(declared.sort());
});

describe('the oldest Node', () => {
  const oldest = [20, 19, 0];

  it('is 20.19 in package.json', () => {
    expect(packageJson.engines.node).toBe('>=20.19');
  });

  it('runs every installed package', () => {
    const packages: Record<string, { engines?: { node?: string } }> = JSON.parse(
      read('package-lock.json'),
    ).packages;
    const excluding = Object.entries(packages)
      .filter(
        ([path, { engines }]) =>
          engines?.node && existsSync(join(root, path)) && !allows(engines.node, oldest),
      )
      .map(([path, { engines }]) => `${path} needs ${engines?.node}`);
    expect(excluding, 'pin an older major of the package').toEqual([]);
  });

  it.each([
    ['*', true],
    ['>= 10', true],
    ['>=20', true],
    ['>=20.19.0 <23', true],
    ['^20.19.0 || >=22.12.0', true],
    ['18 || 20 || 22', true],
    ['20.x', true],
    ['~20.19.0', true],
    ['>=22', false],
    ['>20.19.0', false],
    ['^22.0.0 || >=24', false],
    ['>=18 <20', false],
    ['~20.18.0', false],
  ])('is compared with the range %s', (range, expected) => {
    expect(allows(range, oldest)).toBe(expected);
  });
});

it('package.json has no script that npm runs on its own: where scripts are blocked they would be missing', () => {
  const own = /^(pre|post)(?!horn)|^(install|prepare|dependencies)$/;
  expect(Object.keys(packageJson.scripts).filter((name) => own.test(name))).toEqual([]);
});

it('[CLI-1] README.md calls the command by one name, says what that is before its first use, and how a database of your own gets its schema', () => {
  const readme = read('README.md');
  expect(readme.match(/.*node .*dist\/cli\/posthorn\.js.*/g)).toEqual([
    `alias posthorn="node '$PWD/dist/cli/posthorn.js'"`,
  ]);
  expect(readme.indexOf('alias posthorn=')).toBeLessThan(readme.indexOf('\nposthorn '));
  const paragraph = readme.split('\n- ').find((item) => item.includes('`DATABASE_URL` set'));
  expect(paragraph).toMatch(/`posthorn migrate`[\s\S]*`posthorn serve --migrate`/);
});

it('every relative link in the documents leads somewhere', () => {
  const broken = documents().flatMap((file) =>
    [...withoutCode(read(file)).matchAll(/\]\(<?([^()#>\s]+)[^)]*\)/g)]
      .map((match) => match[1] ?? '')
      .filter((link) => !/^[a-z]+:/i.test(link) && !existsSync(join(root, dirname(file), decodeURI(link))))
      .map((link) => `${file}: ${link}`),
  );
  expect(broken).toEqual([]);
});

function documents(): string[] {
  const files = readdirSync(root).concat(
    ['docs', 'examples', 'bench'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(
        (file) => `${folder}/${file}`,
      ),
    ),
  );
  return files.filter((file) => file.endsWith('.md'));
}

function withoutCode(markdown: string): string {
  return markdown.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, '');
}

/** The cells of every row of every table, headings and rules left out; a code's back-ticks are not part of it. */
function tableRows(file: string): string[][] {
  return read(file)
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim().replace(/^`|`$/g, '')),
    );
}

function firstCells(file: string): string[] {
  return tableRows(file).map(([first = '']) => first);
}

/** The forms of ranges that packages write in `engines`; an unknown form counts as excluded, so that it is looked at. */
function allows(range: string, version: number[]): boolean {
  return range.split('||').some((alternative) => {
    const comparators = alternative
      .trim()
      .replace(/([<>=^~])\s+/g, '$1')
      .split(/\s+/);
    return comparators.every((comparator) => meets(comparator, version));
  });
}

function meets(comparator: string, version: number[]): boolean {
  if (comparator === '' || comparator === '*') return true;
  const match = /^(>=|<=|>|<|=|\^|~)?v?(\d+)(?:\.(\d+|x))?(?:\.(\d+|x))?$/.exec(comparator);
  if (!match) return false;
  const given = match
    .slice(2)
    .filter((part) => part !== undefined && part !== 'x')
    .map(Number);
  const order =
    version.map((part, at) => part - (given[at] ?? 0)).find((difference) => difference !== 0) ?? 0;
  const same = (parts: number) => given.slice(0, parts).every((part, at) => part === version[at]);
  switch (match[1]) {
    case '>=':
      return order >= 0;
    case '>':
      return order > 0 && !same(given.length);
    case '<=':
      return order <= 0 || same(given.length);
    case '<':
      return order < 0;
    case '^':
      return order >= 0 && same(1);
    case '~':
      return order >= 0 && same(2);
    default:
      return same(given.length);
  }
}
