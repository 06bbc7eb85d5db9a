import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { repository } from '../support/server.ts';

const folder = mkdtempSync(join(tmpdir(), 'posthorn-package-'));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(command: string, args: string[], cwd = folder) {
  const result = spawnSync(command, args, { cwd, encoding: 'utf8' });
  expect(result.status, `${command} ${args.join(' ')}: ${result.stderr}`).toBe(0);
  return result.stdout.trim();
}

it('[OPS-1] the packed tarball installs in an empty project without scripts; its command and its library work', () => {
  const tarball = run(
    'npm',
    ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder],
    repository,
  );
  writeFileSync(join(folder, 'package.json'), '{"name":"empty","private":true,"type":"module"}');
  run('npm', [
    'install',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--prefer-offline',
    join(folder, tarball),
  ]);
  expect(run('node_modules/.bin/posthorn', ['--version'])).toMatch(/^\d+\.\d+\.\d+$/);
  expect(run('node_modules/.bin/posthorn', ['serve', '--help'])).toContain('Example:');
  expect(
    run(process.execPath, ['--input-type=module', '-e', "await import('posthorn'); console.log('imported')"]),
  ).toBe('imported');
}, 120_000);

it('[PERF-1][PERF-2][PERF-11] the benchmark of ingest runs, with every baseline in the same run', () => {
  const out = run(
    process.execPath,
    ['scripts/bench.mjs', 'ingest', '--rounds', '1', '--seconds', '1', '--results', folder],
    repository,
  );
  for (const part of ['no storage', 'posthorn', 'one insert each', 'PERF-2: at', 'bare HMAC ns'])
    expect(out).toContain(part);
}, 120_000);

it('[PERF-3] a part of the benchmark of processing writes no result unasked, and an unknown part is refused', () => {
  const bench = (...args: string[]) =>
    spawnSync(process.execPath, ['scripts/bench.mjs', 'process', ...args], {
      cwd: repository,
      encoding: 'utf8',
    });
  const results = () => {
    const place = join(repository, 'bench/results');
    return readdirSync(place).map((name) => [name, statSync(join(place, name)).mtimeMs]);
  };
  const before = results();
  const { status, stdout } = bench('--only', 'wake', '--rounds', '1', '--seconds', '1');
  expect([status, results()]).toEqual([0, before]);
  expect(stdout).toContain('woken by NOTIFY');
  const refused = bench('--only', 'wake,speed');
  expect(refused.status).not.toBe(0);
  expect(refused.stderr).toContain(
    '--only does not know speed; the parts are drain, lag, wake, cost, memory.',
  );
}, 120_000);

it('[PERF-3][PERF-8] the benchmark of processing runs, each part beside its baseline', () => {
  const short = ['--rounds', '1', '--seconds', '1', '--backlog', '500', '--rate', '200', '--minutes', '0.05'];
  const out = run(
    process.execPath,
    ['scripts/bench.mjs', 'process', ...short, '--only', 'drain,lag,memory', '--results', folder],
    repository,
  );
  for (const part of ['10 bare connections', 'lag most ms', 'worker MB']) expect(out).toContain(part);
}, 120_000);
