import { type ChildProcess, spawn } from 'node:child_process';
import type { CommandEnd, ToShim } from './messages.ts';

/** Between the polite signal and the one that cannot be caught. */
const killAfterMs = 1_500;

export type Child = {
  readonly pid: number;
  /** Asks the whole group to end, and kills it a moment later. */
  end(why: 'cancelled' | 'timed_out'): void;
  /** Kills the whole group now. */
  kill(): void;
};

/**
 * Starts a command without a shell, in a process group of its own, and tells once how it ended: when it has exited,
 * what it left behind in its group is dead too, and its output is complete. Gives undefined if it cannot start.
 */
export function startCommand(
  order: Pick<Extract<ToShim, { type: 'run' }>, 'command' | 'cwd' | 'env' | 'timeoutMs' | 'mostOutputBytes'>,
  onEnd: (end: CommandEnd) => void,
): Child | undefined {
  const [program = '', ...args] = order.command;
  const output = new OutputTail(order.mostOutputBytes);
  const child = spawn(program, args, {
    cwd: order.cwd,
    env: { ...order.env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let why: 'cancelled' | 'timed_out' | undefined;
  let killer: NodeJS.Timeout | undefined;
  const end = (reason: 'cancelled' | 'timed_out') => {
    if (why !== undefined) return;
    why = reason;
    signalGroup(child, 'SIGTERM');
    killer = setTimeout(() => signalGroup(child, 'SIGKILL'), killAfterMs);
  };
  const timeout = setTimeout(() => end('timed_out'), order.timeoutMs);
  const clear = () => {
    clearTimeout(timeout);
    clearTimeout(killer);
  };
  child.stdout.on('data', (bytes: Buffer) => output.add(bytes));
  child.stderr.on('data', (bytes: Buffer) => output.add(bytes));
  child.once('error', (error) => {
    if (child.pid !== undefined) return;
    clear();
    onEnd({ how: 'cannot_start', reason: error.message, ...output.take() });
  });
  // What is left of the group would hold the output open, and outlive the run.
  child.once('exit', () => signalGroup(child, 'SIGKILL'));
  child.once('close', (exitCode, signal) => {
    if (child.pid === undefined) return;
    clear();
    onEnd({ ...howItEnded(why, exitCode, signal), ...output.take() });
  });
  if (child.pid === undefined) return undefined;
  return { pid: child.pid, end, kill: () => signalGroup(child, 'SIGKILL') };
}

function howItEnded(
  why: 'cancelled' | 'timed_out' | undefined,
  exitCode: number | null,
  signal: string | null,
) {
  if (why !== undefined) return { how: why } as const;
  return exitCode === null
    ? ({ how: 'killed', signal: signal ?? 'a signal' } as const)
    : ({ how: 'exited', exitCode } as const);
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid !== undefined) killGroup(child.pid, signal);
}

/** A group that is gone already is fine. */
export function killGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {}
}

/** Keeps the end of what was written, where errors stand. */
class OutputTail {
  readonly #most: number;
  #chunks: Buffer[] = [];
  #kept = 0;
  #seen = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(bytes: Buffer): void {
    this.#chunks.push(bytes);
    this.#kept += bytes.length;
    this.#seen += bytes.length;
    if (this.#kept > 2 * this.#most) this.#cut();
  }

  take(): { output: Buffer; omittedBytes: number } {
    this.#cut();
    return { output: this.#chunks[0] as Buffer, omittedBytes: this.#seen - this.#kept };
  }

  #cut(): void {
    const tail = Buffer.concat(this.#chunks).subarray(-this.#most);
    this.#chunks = [Buffer.from(tail)];
    this.#kept = tail.length;
  }
}
