import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { AppError } from '../core/errors.ts';

/**
 * Makes a folder and those above it, unless they are there. Not with mkdir's `recursive`: where a file system makes no
 * folders (/proc) Node 20 tries for ever, and where it is read-only Node says that there is no such file.
 */
export function makeFolder(path: string, mode = 0o777): void {
  if (isFolder(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeFolder(parent, mode);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Another process may have made it in this moment.
    if (!isFolder(path)) throw error;
  }
}

/** Does what makes something in the data directory; where that cannot be done, the error says what to do. */
export function makingInDataDir<T>(dataDir: string, make: () => T): T {
  try {
    return make();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (cause instanceof AppError || code === undefined) throw cause;
    throw new AppError(
      'DATA_DIR_UNUSABLE',
      `The data directory ${dataDir} ${adviceOn(code)} name another one with --data-dir, POSTHORN_DATA_DIR or dataDir.`,
      { cause },
    );
  }
}

function adviceOn(code: string): string {
  switch (code) {
    case 'EROFS':
      return 'lies on a read-only file system: mount it writable, or';
    case 'EACCES':
      return `cannot be written by this user (user id ${process.geteuid?.()}): give it to that user with chown or chmod, or`;
    case 'ENOTDIR':
    case 'EEXIST':
      return 'is a file, or lies below one: move that file away, or';
    case 'ENOSPC':
    case 'EDQUOT':
      return 'lies on a disk that is full: free some space, or';
    default:
      return `cannot be made or written (${code}):`;
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
