import { type ChildProcess, spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import type { CommandEnd, ToShim } from './messages.ts';
import { OutputTail } from './output-tail.ts';
import { signalSession } from './session.ts';

/** Between the polite signal and the one that cannot be caught. */
const killAfterMs = 1_500;
/** How long after a command's exit its output is read on, where something out of reach holds it open. */
const readOnMs = 500;

type Order = Pick<
  Extract<ToShim, { type: 'run' }>,
  'command' | 'cwd' | 'env' | 'timeoutMs' | 'mostOutputBytes'
>;
type EndReason = 'cancelled' | 'timed_out';

export type Child = {
  readonly pid: number;
  /** Asks the whole session to end, and kills it a moment later. */
  end(why: EndReason): void;
  /** Kills the whole session now. */
  kill(): void;
};

/**
 * Starts a command without a shell, in a session of its own, and tells once how it ended: when it has exited, what it
 * left behind in its session is dead too, and its output is complete. Gives undefined if it cannot start.
 */
export function startCommand(order: Order, onEnd: (end: CommandEnd) => void): Child | undefined {
  const cannotStart = (error: Error) =>
    onEnd({ how: 'cannot_start', reason: startProblem(order, error), output: noOutput, omittedBytes: 0 });
  let child: ChildProcess;
  try {
    child = spawnCommand(order);
  } catch (error) {
    // Some refusals of the system are thrown (E2BIG), others come as an event (ENOENT).
    cannotStart(error as Error);
    return undefined;
  }
  const { pid } = child;
  if (pid === undefined) {
    child.once('error', cannotStart);
    return undefined;
  }
  return follow(child, pid, order, onEnd);
}

const noOutput = Buffer.alloc(0);

function spawnCommand({ command: [program = '', ...args], cwd, env }: Order): ChildProcess {
  return spawn(program, args, { cwd, env: { ...env }, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
}

/** The system says ENOENT for the program when it is the folder that is gone. */
function startProblem({ cwd }: Order, error: Error): string {
  const isThere = statSync(cwd, { throwIfNoEntry: false })?.isDirectory() === true;
  return isThere ? error.message : `the folder ${cwd} is gone`;
}

function follow(child: ChildProcess, pid: number, order: Order, onEnd: (end: CommandEnd) => void): Child {
  const output = new OutputTail(order.mostOutputBytes);
  const streams = [child.stdout, child.stderr];
  let why: EndReason | undefined;
  const timers: NodeJS.Timeout[] = [];
  const end = (reason: EndReason) => {
    if (why !== undefined) return;
    why = reason;
    signalSession(pid, 'SIGTERM');
    timers.push(setTimeout(() => signalSession(pid, 'SIGKILL'), killAfterMs));
  };
  timers.push(setTimeout(() => end('timed_out'), order.timeoutMs));
  for (const stream of streams) stream?.on('data', (bytes: Buffer) => output.add(bytes));
  child.once('exit', (exitCode, signal) => {
    const how = howItEnded(why, exitCode, signal);
    child.once('close', () => {
      for (const timer of timers) clearTimeout(timer);
      onEnd({ ...how, ...output.take() });
    });
    for (const timer of timers.splice(0)) clearTimeout(timer);
    // What is left would hold the output open, and outlive the run.
    signalSession(pid, 'SIGKILL');
    const letGo = () => streams.forEach((stream) => void stream?.destroy());
    // Where the timer is late, because many commands start just now, what is there is still read before: immediates run
    // after a turn of reading.
    timers.push(setTimeout(() => setImmediate(() => setImmediate(letGo)), readOnMs));
  });
  return { pid, end, kill: () => signalSession(pid, 'SIGKILL') };
}

function howItEnded(why: EndReason | undefined, exitCode: number | null, signal: string | null) {
  if (why !== undefined) return { how: why } as const;
  return exitCode === null
    ? ({ how: 'killed', signal: signal ?? 'a signal' } as const)
    : ({ how: 'exited', exitCode } as const);
}
