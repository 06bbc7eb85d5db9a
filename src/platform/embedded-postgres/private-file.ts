import { randomBytes } from 'node:crypto';
import { chown, open, readFile, rename, rm } from 'node:fs/promises';
import type { RunUser } from './run-user.ts';

/** Replaces a file as a whole, so that a reader or a crash never meets half of it. Mode 0600, owner `user`. */
export async function writePrivateFile(path: string, text: string, user: RunUser): Promise<void> {
  const unfinished = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    const file = await open(unfinished, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
      if (user.switched) await file.chown(user.uid, user.gid);
    } finally {
      await file.close();
    }
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}

export async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

export async function giveTo(path: string, user: RunUser): Promise<void> {
  if (user.switched) await chown(path, user.uid, user.gid);
}

/** A rename is durable only when its directory is. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

export function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}
