import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { childrenOf, signal } from '../../test/support/processes.ts';
import type { Random } from './random.ts';

const program = fileURLToPath(new URL('../../dist/cli/posthorn.js', import.meta.url));
const shiftClock = fileURLToPath(new URL('../shift-clock.mjs', import.meta.url));

export type Role = 'gateway' | 'worker';

/** How the processes of one server ended, beside those that chaos killed. */
export type Ends = { whileStarting: number; byItself: number; stoppedGently: number };

/**
 * One server of the built program, and whoever starts it again: after each death comes a short wait and a new process,
 * as a supervisor would do it. Its output goes into a file.
 */
export class ServerProcess {
  readonly role: Role;
  readonly logFile: string;
  readonly ends: Ends = { whileStarting: 0, byItself: 0, stoppedGently: 0 };
  /** Starts whose wall clock jumped. */
  shiftedStarts = 0;
  isReady = false;
  isPaused = false;
  port = 0;
  readonly #options: { folder: string; name: string; env: Record<string, string>; random: Random };
  #process: ChildProcess | undefined;
  #pausedChild: number | undefined;
  #isKilled = false;
  #isStopping = false;
  #life: Promise<void> = Promise.resolve();

  constructor(
    role: Role,
    options: { folder: string; name: string; env: Record<string, string>; random: Random },
  ) {
    this.role = role;
    this.#options = options;
    this.logFile = join(options.folder, `${options.name}.log`);
    mkdirSync(join(options.folder, options.name));
  }

  get name(): string {
    return this.#options.name;
  }

  /** Undefined while no process lives: its number may be somebody else's by then. */
  get pid(): number | undefined {
    const { pid, exitCode, signalCode } = this.#process ?? {};
    return exitCode === null && signalCode === null ? pid : undefined;
  }

  /** The process in which the handlers run; undefined while there is none. */
  get childPid(): number | undefined {
    return this.pid === undefined ? undefined : childrenOf(this.pid)[0];
  }

  /** Begins its life: start, death, start again, until `stop`. `clockEnv` gives a start a clock that jumps. */
  start(clockEnv: () => string | undefined): void {
    this.#life = this.#live(clockEnv);
  }

  kill(): boolean {
    this.#isKilled = true;
    return signal(this.pid, 'SIGKILL');
  }

  /** The parent first, because it kills a child that it does not hear from. */
  pause(): void {
    this.isPaused = true;
    this.#pausedChild = this.childPid;
    signal(this.pid, 'SIGSTOP');
    signal(this.#pausedChild, 'SIGSTOP');
  }

  /** The child a little earlier than its parent: what it still holds from before, it does with nobody watching. */
  async resume(aheadMs: number): Promise<void> {
    signal(this.#pausedChild, 'SIGCONT');
    this.#pausedChild = undefined;
    await wait(aheadMs);
    signal(this.pid, 'SIGCONT');
    this.isPaused = false;
  }

  /** SIGTERM and its end; SIGKILL after 20 s, or at once with `isHurried`. Twice is fine. */
  async stop({ isHurried = false } = {}): Promise<void> {
    this.#isStopping = true;
    for (const pid of [this.pid, this.#pausedChild]) signal(pid, 'SIGCONT');
    signal(this.pid, isHurried ? 'SIGKILL' : 'SIGTERM');
    const late = setTimeout(() => signal(this.pid, 'SIGKILL'), 20_000);
    await this.#life;
    clearTimeout(late);
  }

  async #live(clockEnv: () => string | undefined): Promise<void> {
    while (!this.#isStopping) {
      const clock = clockEnv();
      if (clock !== undefined) this.shiftedStarts += 1;
      this.#isKilled = false;
      const code = await this.#liveOnce(clock);
      const wasReady = this.isReady;
      this.isReady = false;
      if (this.#isStopping) this.ends.stoppedGently += code === 0 ? 1 : 0;
      else if (!this.#isKilled) this.ends[wasReady ? 'byItself' : 'whileStarting'] += 1;
      if (!this.#isStopping) await wait(this.#options.random.between(200, 1_200));
    }
  }

  async #liveOnce(clock: string | undefined): Promise<number | null> {
    const { folder, name, env } = this.#options;
    const output = openSync(this.logFile, 'a');
    const { size } = statSync(this.logFile);
    const ports = this.role === 'gateway' ? ['--port', '0', '--admin-port', '0'] : [];
    const roles = this.role === 'gateway' ? 'gateway,admin' : 'worker';
    const args = ['serve', '--migrate', '--roles', roles, '--data-dir', join(folder, name), ...ports];
    const { NODE_OPTIONS: _options, ...inherited } = process.env;
    const child = spawn(process.execPath, [program, ...args], {
      cwd: folder,
      env: {
        ...inherited,
        ...env,
        ...(clock && { NODE_OPTIONS: `--import ${shiftClock}`, POSTHORN_CHAOS_CLOCK: clock }),
      },
      stdio: ['ignore', output, output],
      // Ctrl-C reaches a terminal's whole group; chaos decides about its servers.
      detached: true,
    });
    this.#process = child;
    closeSync(output);
    let isOver = false;
    const exited = new Promise<number | null>((resolve) => {
      child.once('exit', resolve);
      child.once('error', () => resolve(1));
    });
    void this.#becomeReady(size, () => isOver);
    const code = await exited;
    isOver = true;
    return code;
  }

  async #becomeReady(from: number, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const said = readFrom(this.logFile, from);
      if (said.includes('Posthorn is ready.')) {
        this.port = Number(/webhooks {2}http:\/\/[^:]+:(\d+)/.exec(said)?.[1] ?? 0);
        this.isReady = true;
        return;
      }
      await wait(50);
    }
  }
}

/** As much of a file as a start writes. */
function readFrom(path: string, position: number): string {
  const file = openSync(path, 'r');
  const buffer = Buffer.alloc(64 * 1024);
  const bytes = readSync(file, buffer, 0, buffer.length, position);
  closeSync(file);
  return buffer.toString('utf8', 0, bytes);
}
