import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { AppError } from '../core/errors.ts';
import { makeFolder, makingInDataDir } from './data-dir.ts';
import { makeSecretFile } from './secrets.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'posthorn-data-dir-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** What making a secret below this data directory is refused with. */
function refusalOf(dataDir: string): string {
  try {
    makingInDataDir(dataDir, () => makeSecretFile(join(dataDir, 'secrets/demo')));
  } catch (error) {
    expect(error).toBeInstanceOf(AppError);
    expect(error).toMatchObject({ code: 'DATA_DIR_UNUSABLE', exitCode: 2 });
    return (error as Error).message.replaceAll(folder, '{F}');
  }
  throw new Error('it was expected to be refused');
}

it('[EPG-26] makes a folder with those above it; one that is there stays as it is', () => {
  makeFolder(join(folder, 'a/b/c'), 0o700);
  expect(statSync(join(folder, 'a/b/c')).mode & 0o777).toBe(0o700);
  chmodSync(join(folder, 'a'), 0o755);
  makeFolder(join(folder, 'a/b'), 0o700);
  makeFolder('/');
  expect(statSync(join(folder, 'a')).mode & 0o777).toBe(0o755);
  expect(() => makeFolder('')).toThrow();
});

it('[OPS-1][EPG-26] a data directory that is a file, or lies below one, is refused with what to do', () => {
  writeFileSync(join(folder, 'file'), '');
  const mend = 'move that file away, or name another one with --data-dir, POSTHORN_DATA_DIR or dataDir.';
  for (const name of ['file', 'file/data'])
    expect(refusalOf(join(folder, name))).toBe(
      `The data directory {F}/${name} is a file, or lies below one: ${mend}`,
    );
});

it('[OPS-1][EPG-26] a data directory that this user may not write is refused with what to do', () => {
  chmodSync(folder, 0o755);
  mkdirSync(join(folder, 'data'), { mode: 0o555 });
  // Root may write everywhere: for this it is nobody.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  try {
    expect(refusalOf(join(folder, 'data'))).toMatch(
      /cannot be written by this user \(user id \d+\): give it/,
    );
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
});

// Whoever makes folders the usual way never comes back from here: Node 20 tries for ever.
it('[OPS-1][EPG-26] a place where no folders can be made is refused at once', ({ skip }) => {
  if (process.platform !== 'linux') skip('/proc is on Linux');
  expect(refusalOf('/proc/posthorn/data')).toBe(
    'The data directory /proc/posthorn/data cannot be made or written (ENOENT): name another one with --data-dir, POSTHORN_DATA_DIR or dataDir.',
  );
});
