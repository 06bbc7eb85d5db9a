import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { failureOfModule, loadUserModule } from './user-module.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'posthorn user module '));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** As Node itself imports: the loader of the tests has errors of its own. */
function importByNode(path: string): Promise<{ default?: unknown }> {
  const importer = join(folder, 'importer.cjs');
  writeFileSync(importer, 'module.exports = (url) => import(url);');
  return createRequire(import.meta.url)(importer)(pathToFileURL(path).href);
}

/** What loading and calling the first of these modules fails with, as `place: message`; `{F}` stands for the folder. */
async function failureOf(files: Record<string, string>): Promise<string> {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const path = join(folder, Object.keys(files)[0] as string);
  try {
    const loaded = await (path.endsWith('.ts') ? loadUserModule(path) : importByNode(path));
    await (loaded.default as () => unknown)();
  } catch (thrown) {
    const { place, message } = failureOfModule(path, thrown);
    return `${place}: ${message}`.replaceAll(folder, '{F}');
  }
  throw new Error('the module was expected to fail');
}

it('[IN-12][OPS-1] what a module throws is shown with its file and line', async () => {
  expect(await failureOf({ 'a.mjs': "\n\nthrow new Error('top level');" })).toBe('{F}/a.mjs:3: top level');
  expect(await failureOf({ 'b.mjs': 'export default () => {\n  oops();\n};' })).toBe(
    '{F}/b.mjs:2: oops is not defined',
  );
  expect(await failureOf({ 'c.ts': 'type A = 1;\nconst a: A = 1;\nthrow new Error("c" + a);' })).toBe(
    '{F}/c.ts:3: c1',
  );
  expect(await failureOf({ 'd.mjs': "import './e.mjs';", 'e.mjs': "\nthrow new Error('inner');" })).toBe(
    '{F}/e.mjs:2: inner',
  );
  expect(await failureOf({ 'f.cjs': "\n\nthrow new Error('common');" })).toBe('{F}/f.cjs:3: common');
});

it('[IN-12][OPS-1] what a package throws is shown where the module called it', async () => {
  const thrower = 'module.exports = () => {\n  throw new Error("deep");\n};';
  const files = { 'a.cjs': "\nconst deep = require('thrower');\ndeep();" };
  expect(await failureOf({ ...files, 'node_modules/thrower/index.js': thrower })).toBe('{F}/a.cjs:3: deep');
});

it('[IN-12][OPS-1] a syntax error is shown with its line, in JavaScript and TypeScript', async () => {
  const broken = "export default (on) => {\n  on('a', => {});\n};";
  for (const name of ['a.mjs', 'b.js', 'c.ts'])
    expect(await failureOf({ [name]: broken }), name).toMatch(/^\{F\}\/[abc]\.\w+:2: .*Unexpected token/);
});

it('[IN-12][OPS-1] an import that leads nowhere is shown with its line', async () => {
  const names = ['no-such-package', '@no/such-package', './nowhere.js', '../nowhere.js'];
  for (const [n, name] of names.entries())
    expect(await failureOf({ [`${n}.mjs`]: `// ${name}\nimport x from '${name}';` }), name).toMatch(
      /^\{F\}\/\d\.mjs:2: Cannot find (package|module) '[^']+' imported from \{F\}\/\d\.mjs$/,
    );
  expect(await failureOf({ 'b.ts': "\nimport x from 'no-such-package';\nexport default x;" })).toBe(
    "{F}/b.ts:2: Cannot find module 'no-such-package'",
  );
  expect(
    await failureOf({ 'c.mjs': "\nimport { b } from './d.mjs';", 'd.mjs': 'export const a = 1;' }),
  ).toMatch(/^\{F\}\/c\.mjs:2: .*does not provide an export named 'b'$/);
});

it('[IN-12][OPS-1] what holds no place is shown with the module', async () => {
  expect(await failureOf({ 'a.mjs': "throw 'a text';" })).toBe('{F}/a.mjs: it threw a text');
  expect(await failureOf({ 'b.mjs': 'throw null;' })).toBe('{F}/b.mjs: it threw object');
  expect(await failureOf({ 'c.mjs': "import './d.mjs';", 'd.mjs': 'export default {;' })).toMatch(
    /^\{F\}\/c\.mjs: .*, in a module that it imports$/,
  );
});
