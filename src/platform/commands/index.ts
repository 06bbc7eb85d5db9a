import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { accessSync, constants, mkdirSync, realpathSync } from 'node:fs';
import { mkdtemp, readdir, readlink, realpath, rm, writeFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CommandEnd, FromShim, ToShim } from './messages.ts';
import { killByEnvironment, signalSession } from './session.ts';

export type { CommandEnd } from './messages.ts';

const beatEveryMs = 1_000;
const shim = fileURLToPath(new URL(`./shim${extname(import.meta.url)}`, import.meta.url));

export type Command = {
  /** Program and arguments; never a shell. */
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly mostOutputBytes: number;
  /** Ends the command whole when it aborts. */
  readonly signal: AbortSignal;
};

type Running = { pid: number | undefined; onEnd: (end: CommandEnd) => void };

/**
 * Runs commands through a shim, a process of its own that ends them whole whatever happens to this one: see shim.ts.
 * Files for commands live in a private folder below `base`, deleted with the shim.
 */
export class Commands {
  readonly #base: string;
  #shim: ChildProcess | undefined;
  #folder: string | undefined;
  #beats: NodeJS.Timeout | undefined;
  readonly #running = new Map<number, Running>();
  #lastId = 0;

  /** Makes `base` (0700) at once: throws where that is not possible, or nothing can be written there. */
  constructor(base: string) {
    mkdirSync(base, { recursive: true, mode: 0o700 });
    accessSync(base, constants.W_OK | constants.X_OK);
    this.#base = realpathSync(base);
  }

  /** Resolves when the command, and whatever it left in its group, has ended. Never rejects. */
  async run({ signal, ...order }: Command): Promise<CommandEnd> {
    this.#startShim();
    const id = ++this.#lastId;
    const ended = new Promise<CommandEnd>((onEnd) => this.#running.set(id, { pid: undefined, onEnd }));
    const cancel = () => this.#tell({ type: 'cancel', id });
    this.#tell({ type: 'run', id, ...order });
    if (signal.aborted) cancel();
    else signal.addEventListener('abort', cancel, { once: true });
    try {
      return await ended;
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  /** Runs `use` with the path of a private file (0600) that holds `bytes`; deletes it afterwards. */
  async withFile<T>(bytes: Buffer, use: (path: string) => Promise<T>): Promise<T> {
    this.#startShim();
    const folder = await mkdtemp(join(this.#folder as string, 'run-'));
    try {
      const path = join(folder, 'payload');
      await writeFile(path, bytes, { mode: 0o600 });
      return await use(path);
    } finally {
      await remove(folder);
    }
  }

  /** Kills what runs and deletes the folder. Twice is fine. */
  async stop(): Promise<void> {
    const child = this.#shim;
    if (child === undefined) return;
    const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.disconnect();
    await gone;
  }

  #startShim(): void {
    if (this.#shim !== undefined) return;
    const folder = join(this.#base, `worker-${process.pid}-${randomBytes(6).toString('hex')}`);
    mkdirSync(folder, { mode: 0o700 });
    const child = fork(shim, [], {
      cwd: folder,
      env: {},
      serialization: 'advanced',
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#shim = child;
    this.#folder = folder;
    this.#beats = setInterval(() => this.#tell({ type: 'beat' }), beatEveryMs);
    child.on('message', (message: FromShim) => {
      if (message.type === 'ended') this.#end(message.id, message.end);
      else this.#noteStart(message.id, message.pid);
    });
    child.on('error', () => {
      // One that could not be started (no memory, too many processes) never exits.
      if (child.pid === undefined) this.#forgetShim(folder);
    });
    child.on('exit', () => this.#forgetShim(folder));
  }

  /**
   * A shim that was killed leaves its commands behind: they are ended from here. One that it had no time to tell of is
   * known by its file in the shim's folder. The next run starts another shim.
   */
  #forgetShim(folder: string): void {
    clearInterval(this.#beats);
    this.#shim = undefined;
    if ([...this.#running.values()].some(({ pid }) => pid === undefined)) killByEnvironment(folder);
    void remove(folder);
    for (const [id, { pid }] of this.#running) {
      if (pid !== undefined) signalSession(pid, 'SIGKILL');
      this.#end(id, { how: 'killed', signal: 'SIGKILL', output: Buffer.alloc(0), omittedBytes: 0 });
    }
  }

  /** The last words of a shim that was killed may come after its exit: nobody else would end that command. */
  #noteStart(id: number, pid: number): void {
    const running = this.#running.get(id);
    if (running === undefined) signalSession(pid, 'SIGKILL');
    else running.pid = pid;
  }

  #end(id: number, end: CommandEnd): void {
    this.#running.get(id)?.onEnd(end);
    this.#running.delete(id);
  }

  #tell(message: ToShim): void {
    if (this.#shim?.connected === true) this.#shim.send(message, () => {});
  }
}

/** A folder that a command made undeletable is not the run's fault: it is tried again with the shim's, and at the next start. */
async function remove(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch(() => {});
}

/**
 * Deletes what processes that are gone left below `base`; a shim that still deletes its own is left to that. Gives the
 * folders that could not be deleted.
 */
export async function sweepCommandFolders(base: string): Promise<string[]> {
  const home = await realpath(base).catch(() => undefined);
  const names = home === undefined ? [] : await readdir(home).catch(() => []);
  const kept: string[] = [];
  for (const name of names) {
    if (!name.startsWith('worker-')) continue;
    const folder = join(home as string, name);
    if (await isWorkedIn(folder)) continue;
    await rm(folder, { recursive: true, force: true }).catch(() => kept.push(folder));
  }
  return kept;
}

/** A living shim works in its folder. Where there is no /proc, nothing is known, and the folder stays. */
async function isWorkedIn(folder: string): Promise<boolean> {
  const pids = (await readdir('/proc').catch(() => undefined))?.filter((name) => /^\d+$/.test(name));
  if (pids === undefined) return true;
  const places = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => '')));
  return places.includes(folder);
}
