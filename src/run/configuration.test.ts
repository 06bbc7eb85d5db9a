import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { useConfigurationFolder } from '../../test/support/configuration-folder.ts';
import type { AppError } from '../core/errors.ts';
import { loadConfiguration } from './configuration.ts';

const { folder, write, problemsOf } = useConfigurationFolder();

const good = `
sources:
  github: { scheme: github, secretFile: secret }
handlers:
  - { name: app, module: ./handlers.js }
`;

it('[IN-12] reads a configuration and fills in every default', async () => {
  const configuration = await loadConfiguration({ config: write('posthorn.yaml', good) }, () => {});
  expect(configuration).toMatchObject({
    folder: folder(),
    dataDir: join(folder(), '.posthorn'),
    inbound: {
      enabled: true,
      allowed_sources: [],
      max_payload_size_kb: 256,
      timestamp_tolerance_seconds: 300,
    },
    http: {
      host: '127.0.0.1',
      port: 8400,
      adminPort: 8401,
      trustProxy: 0,
      keepAliveMs: 5_000,
      answerDeadlineMs: 2_500,
    },
  });
});

it('[IN-12] reads JSON, JavaScript and TypeScript', async () => {
  const object = '{ "sources": { "github": { "scheme": "github", "secretFile": "secret" } } }';
  for (const [name, text] of [
    ['a.json', object],
    ['a.mjs', `export default ${object}`],
    ['a.ts', `type T = object;\nconst value: T = ${object};\nexport default value;`],
  ] as const) {
    const { sources } = await loadConfiguration({ config: write(name, text) }, () => {});
    expect(Object.keys(sources), name).toEqual(['github']);
  }
});

it('[IN-12] lists every problem at once, each with its path and its mend', async () => {
  const problems = await problemsOf(`
sources:
  github: { scheme: githup, secretFile: secret }
  BAD CODE: { scheme: github }
  missing: { scheme: github, secretFile: nowhere }
  short: { scheme: github, secretFile: short, colour: red }
  shop:
    scheme: { hmac: md5, header: "X Sign", encoding: hex, signed: "{body}{time}", eventId: { json: id } }
handlers:
  - { name: app, module: ./absent.js }
  - { name: app, module: ./handlers.js, command: [x] }
inbound: { enabled: yes please, allowed_sources: [nobody, 300.0.0.0/8] }
http: { port: 70000, trustProxy: [10.0.0.0/99] }
relay: {}
`);
  const paths = problems.map((problem) => problem.split(':')[0]);
  for (const path of [
    'sources.github.scheme',
    'sources."BAD CODE"',
    'sources.missing.secretFile',
    'sources.short.colour',
    'sources.shop.scheme.hmac',
    'handlers[0].module',
    'handlers[1].command',
    'inbound.enabled',
    'http.port',
    'http.trustProxy[0]',
    'relay',
  ]) {
    expect(paths, `${path} in ${problems.join('\n')}`).toContain(path);
  }
  expect(problems.every((problem) => /: .{10,}/.test(problem))).toBe(true);
});

it('[IN-12] keys that are not built yet are refused as unknown, never taken in silence', async () => {
  const source = (key: string) => `sources:\n  github: { scheme: github, secretFile: secret, ${key} }\n`;
  for (const key of [
    'schema: x.json',
    'renamedFrom: gh',
    'events: [push]',
    'ratePerMinute: 5',
    'secret: abc',
  ]) {
    expect(await problemsOf(source(key)), key).toEqual([
      expect.stringMatching(/^sources\.github\.\w+: is not a known key/),
    ]);
  }
  for (const key of ['priority: 1', 'ordered: true']) {
    const problems = await problemsOf(`${good.trimEnd().slice(0, -2)}, ${key} }\n`);
    expect(problems, key).toEqual([expect.stringMatching(/^handlers\[0\]\.\w+: is not a known key/)]);
  }
  for (const group of [
    'relay: {}',
    'notifications: []',
    'contracts: {}',
    'inbound: { rate_limit_per_source: 5 }',
  ]) {
    expect(await problemsOf(`${good}${group}\n`), group).toEqual([
      expect.stringContaining('is not a known key'),
    ]);
  }
});

it('[IN-12] what a described scheme gets wrong is named inside the description', async () => {
  const problems = await problemsOf(`
sources:
  shop:
    scheme: { hmac: sha256, header: X-Sign, field: v1, encoding: hex, signed: "{timestamp}.{payload}", eventId: { json: id } }
    secretFile: secret
`);
  expect(problems.map((problem) => problem.split(':')[0])).toEqual([
    'sources.shop.scheme.signed',
    'sources.shop.scheme.signed',
    'sources.shop.scheme.timestamp',
    'sources.shop.scheme.list',
  ]);
});

it('[IN-12] a key that stands twice is refused, in JSON too', async () => {
  expect(await problemsOf('sources: {}\nsources: {}\n')).toEqual([
    expect.stringContaining('line 2, column 1'),
  ]);
  expect(await problemsOf('{"sources": {}, "sources": {}}', 'posthorn.json')).toEqual([
    expect.stringContaining('line 1'),
  ]);
  const twice = await problemsOf('sources:\n  a: { scheme: github }\n  a: { scheme: github }\n');
  expect(twice).toEqual([expect.stringContaining('line 3')]);
});

it('[IN-12] files that are no configuration are refused with a sentence', async () => {
  for (const [name, text] of [
    ['a.yaml', '- just\n- a list\n'],
    ['a.yaml', 'text'],
    ['a.yaml', 'a: [\n'],
    ['a.json', '{'],
    ['a.mjs', 'export const x = 1;'],
    ['a.mjs', 'syntax error'],
    ['a.ts', 'export default 5;'],
  ] as const) {
    expect((await problemsOf(text, name)).length, text).toBeGreaterThan(0);
  }
  expect(await problemsOf('', 'empty.yaml')).toEqual([]);
});

it('[SIG-5] a named secret that is refused stops the start, and never stands in the message', async () => {
  write('short', 'tooshort');
  write('empty', '\n');
  const problems = await problemsOf(`
sources:
  a: { scheme: github, secretFile: short }
  b: { scheme: github, secretFile: [secret, empty] }
  c: { scheme: github, secretEnv: NO_SUCH_VARIABLE_ANYWHERE }
  d: { scheme: github, secretFile: . }
`);
  expect(problems).toEqual([
    expect.stringMatching(/^sources\.a\.secretFile: the secret in .*short has 8 bytes/),
    expect.stringMatching(/^sources\.b\.secretFile: the secret in .*empty is empty/),
    expect.stringMatching(
      /^sources\.c\.secretEnv: the secret in environment variable NO_SUCH_VARIABLE_ANYWHERE is not set/,
    ),
    expect.stringMatching(/^sources\.d\.secretFile: the secret in .* cannot be read/),
  ]);
  expect(problems.join()).not.toContain('tooshort');
});

it('[IN-12][CLI-2][CLI-3][CLI-4] who only looks at the database or asks the server needs no file that the configuration names', async () => {
  const text = `
sources:
  a: { scheme: github, secretFile: empty }
  b: { scheme: github, secretFile: nowhere }
handlers:
  - { name: module, module: ./absent.js }
  - { name: http, source: a, http: { url: "https://example.com/", secretFile: empty } }
  - { name: exec, source: a, exec: { command: [./absent] } }
`;
  write('empty', '');
  expect((await problemsOf(text)).map((problem) => problem.split(':')[0])).toEqual([
    'handlers[0].module',
    'handlers[1].http.secretFile',
    'handlers[2].exec.command',
    'sources.a.secretFile',
    'sources.b.secretFile',
  ]);
  const config = write('posthorn.yaml', text);
  expect((await loadConfiguration({ config })).handlers).toHaveLength(3);
});

it('[IN-12] a flag wins over the environment, that over the file', async () => {
  const config = write(
    'posthorn.yaml',
    `${good}http: { port: 1 }\ndatabase: { url: "postgres://file/x" }\ndataDir: from-file\n`,
  );
  expect(await loadConfiguration({ config })).toMatchObject({
    http: { port: 1 },
    dataDir: join(folder(), 'from-file'),
  });
  vi.stubEnv('POSTHORN_PORT', '2');
  vi.stubEnv('POSTHORN_DATA_DIR', join(folder(), 'from-env'));
  vi.stubEnv('DATABASE_URL', 'postgres://env/x');
  expect(await loadConfiguration({ config })).toMatchObject({
    http: { port: 2 },
    dataDir: join(folder(), 'from-env'),
    database: { url: 'postgres://env/x' },
  });
  const flags = { config, port: '3', dataDir: join(folder(), 'from-flag') };
  expect(await loadConfiguration(flags)).toMatchObject({
    http: { port: 3 },
    dataDir: join(folder(), 'from-flag'),
  });
});

it('[IN-12] wrong flags and variables are listed with the rest', async () => {
  vi.stubEnv('POSTHORN_ADMIN_PORT', 'x');
  vi.stubEnv('DATABASE_URL', 'mysql://x');
  const config = write('posthorn.yaml', 'sources: 5\n');
  const error = await loadConfiguration({ config, port: '99999' }).catch((thrown: Error) => thrown);
  const text = (error as Error).message;
  for (const place of ['sources', '--port', 'POSTHORN_ADMIN_PORT', 'DATABASE_URL'])
    expect(text).toContain(`  ${place}: `);
});

it('[IN-12] no configuration: exit code 2 with an example', async () => {
  vi.stubEnv('POSTHORN_CONFIG', '');
  vi.spyOn(process, 'cwd').mockReturnValue(folder());
  const error = (await loadConfiguration({}).catch((thrown: Error) => thrown)) as AppError;
  expect(error).toMatchObject({ code: 'CONFIG_NOT_FOUND', exitCode: 2 });
  expect(error.message).toContain('sources:');
  vi.restoreAllMocks();
  await expect(loadConfiguration({ config: folder() })).rejects.toThrow(
    `--config names ${folder()}, which is a folder; name a file.`,
  );
});

it('[IN-12] secrets that posthorn makes may be missing until a sound configuration starts', async () => {
  const made: string[] = [];
  const config = write(
    'posthorn.yaml',
    'sources:\n  demo: { scheme: github, secretFile: data:secrets/demo }\nbad: 1\n',
  );
  const error = (await loadConfiguration({ config }, () => made.push('x')).catch(
    (thrown: Error) => thrown,
  )) as AppError;
  expect(error.message).toContain('bad: is not a known key');
  expect(error.message).not.toContain('secrets/demo');
  expect(made).toEqual([]);
});
