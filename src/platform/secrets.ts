import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { environment } from './config.ts';
import { makeFolder } from './data-dir.ts';
import type { Log } from './log.ts';

/** Where a secret is: a file or an environment variable, never the configuration itself. */
export type SecretPlace = { readonly file: string } | { readonly env: string };

/** `data:secrets/github` is a file below the data directory; other paths are relative to the configuration's folder. */
export function secretPath(named: string, folders: { folder: string; dataDir: string }): string {
  if (named.startsWith('data:')) return join(folders.dataDir, named.slice('data:'.length));
  return isAbsolute(named) ? named : resolve(folders.folder, named);
}

/** The text of a secret, or why it cannot be had, as an ending of "the secret in <place> ...". Never the text in it. */
export function readSecret(place: SecretPlace): { text: string } | { problem: string } {
  if ('env' in place) {
    const text = environment[place.env];
    return text === undefined ? { problem: 'is not set' } : { text };
  }
  try {
    return { text: withoutNewline(readFileSync(place.file, 'utf8')) };
  } catch (error) {
    return { problem: unreadable((error as NodeJS.ErrnoException).code) };
  }
}

function unreadable(code: string | undefined): string {
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'does not exist';
  if (code === 'EISDIR') return 'cannot be read: that is a folder; name a file';
  if (code === 'EACCES') return 'cannot be read (EACCES); let the user of posthorn read it';
  return `cannot be read (${code})`;
}

/** Where the secret is, in words. Somebody may have written the secret itself in there: what looks like one is not shown. */
export function placeText(place: SecretPlace): string {
  const text = 'env' in place ? `environment variable ${place.env}` : place.file;
  return text.replace(/[A-Za-z0-9+=]{20,}/g, (run) => (/\d.*\d/.test(run) ? '[not shown]' : run));
}

/**
 * Makes a file with a secret, mode 0600, unless there is one: with a random one where no text is given. Gives whether it was
 * made.
 */
export function makeSecretFile(path: string, text = randomBytes(32).toString('hex')): boolean {
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return false;
  makeFolder(dirname(path), 0o700);
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
  try {
    const file = openSync(draft, 'wx', 0o600);
    try {
      writeSync(file, `${text}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    // A link, not a rename: of two processes that start at once, one makes the secret and the other uses it.
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** A secret file that others can read is reported, not refused: it may be meant so (a group of services). */
export function warnOfOpenFile(path: string, log: Log): void {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  if ((mode & 0o077) !== 0) {
    log.warn(
      { event: 'secret.file_open', file: path },
      `other users can read ${path}; mend it with: chmod 600 ${path}`,
    );
  }
}

/** No file has this stamp: the first look reads each file again, as it may have changed since it was read. */
const unseen = '';
const settleMs = 200;
const emptyMs = 1_000;

/**
 * Follows the content of secret files: a changed file is taken when two reads 200 ms apart agree, until then the
 * former content holds, so that a half-written file is never used. Empty or gone for longer than a second counts
 * as gone: `onChange` then gets undefined and its source fails closed.
 */
export class SecretFiles {
  readonly #files = new Map<string, { stamp: string; text: string | undefined }>();
  readonly #onChange: (path: string, text: string | undefined) => void;
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(
    contents: ReadonlyMap<string, string>,
    onChange: (path: string, text: string | undefined) => void,
  ) {
    this.#onChange = onChange;
    for (const [path, text] of contents) this.#files.set(path, { stamp: unseen, text });
  }

  /** Looks at every file once a second. */
  start(): void {
    this.#timer ??= setInterval(() => void this.look(), 1_000);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** One look at every file; overlapping looks are left out. */
  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      await Promise.all([...this.#files.keys()].map((path) => this.#lookAt(path)));
    } finally {
      this.#isLooking = false;
    }
  }

  async #lookAt(path: string): Promise<void> {
    const known = this.#files.get(path) as { stamp: string; text: string | undefined };
    const stamp = await stampOf(path);
    if (stamp === known.stamp && known.text !== undefined) return;
    const text = await settledText(path);
    if (text === 'unsettled') return;
    known.stamp = stamp;
    if (text === known.text) return;
    known.text = text;
    this.#onChange(path, text);
  }
}

/** The content once two reads agree; undefined where it stays empty or unreadable for a second. */
async function settledText(path: string): Promise<string | undefined | 'unsettled'> {
  const first = await read(path);
  await wait(settleMs);
  let second = await read(path);
  if (first !== second) return 'unsettled';
  for (let waited = settleMs; second === '' && waited < emptyMs; waited += settleMs) {
    await wait(settleMs);
    second = await read(path);
    if (second !== '') return 'unsettled';
  }
  return second === '' ? undefined : second;
}

async function read(path: string): Promise<string> {
  return readFile(path, 'utf8').then(withoutNewline, () => '');
}

async function stampOf(path: string): Promise<string> {
  return stat(path).then(
    (found) => `${found.mtimeMs} ${found.size} ${found.ino}`,
    () => 'absent',
  );
}

/** One trailing newline is taken off, as editors and `echo` add one (SIG-5). */
function withoutNewline(content: string): string {
  return content.replace(/\r?\n$/, '');
}
