import { expect, it } from 'vitest';
import { useConfigurationFolder } from '../../test/support/configuration-folder.ts';

const { problemsOf } = useConfigurationFolder();

it('[IN-12] a configuration that is code may throw anything, and still is a refusal with its file', async () => {
  for (const [name, text] of [
    ['a.mjs', 'throw null;'],
    ['a.mjs', 'throw "a text";'],
    ['a.mjs', 'export default { get sources() { throw new Error("a getter"); } };'],
    ['a.yaml', 'a: &a [1]\nb: *c\n'],
    [
      'a.yaml',
      `a: &a [x]\n${Array.from({ length: 9 }, (_, n) => `b${n}: &b${n} [${Array(30).fill(n ? `*b${n - 1}` : '*a')}]`).join('\n')}`,
    ],
  ] as const) {
    const problems = await problemsOf(text, name);
    expect(problems, text.slice(0, 60)).toEqual([expect.stringMatching(/^(the file|line \d+.*): .{10,}/)]);
  }
});

it('[IN-12] a configuration that is code is refused with the line that threw', async () => {
  const problems = await problemsOf("const a = 1;\n\nthrow new Error('no vault');", 'a.mjs');
  expect(problems).toEqual([
    expect.stringMatching(/^the file: cannot be loaded: no vault \(.*\/a\.mjs:3\)$/),
  ]);
});

it('[IN-12] a code that is none, a URL that is none, a group that is none: each says what it must be', async () => {
  expect(await problemsOf('sources:\n  GitHub: { scheme: github }\n')).toEqual([
    expect.stringContaining('is no source code'),
  ]);
  expect(await problemsOf('log: 5\n')).toEqual(['log: must be a group of keys, each on a line of its own']);
  expect(await problemsOf('sources:\n  a: { scheme: github, secretFile: [] }\n')).toEqual([
    expect.stringContaining('sources.a.secretFile: must not be empty'),
  ]);
  for (const url of [
    'postgres://u:p@127.0.0.1:999999/x',
    'postgres://u:p@[::bad/x',
    'mysql://x',
    'postgres:/x',
  ]) {
    expect(await problemsOf(`database: { url: "${url}" }\n`), url).toEqual([
      expect.stringContaining('database.url: must be a URL'),
    ]);
  }
  for (const url of [
    'postgres://u:p@host/db',
    'postgresql:///db?host=/tmp',
    'postgres://u:p@/db?host=%2Ftmp&port=5',
  ]) {
    expect(await problemsOf(`database: { url: "${url}" }\n`), url).toEqual([]);
  }
});
