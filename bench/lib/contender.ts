import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { LoadOrder, LoadReport } from './load.mjs';

export const benchSecret = 'bench-secret-0123456789abcdef';

/** A server under test in a process of its own. */
export type Contender = { readonly port: number; readonly pid: number; stop(): Promise<void> };

export async function startContender(script: string, args: string[], order: object): Promise<Contender> {
  const path = fileURLToPath(new URL(`../servers/${script}`, import.meta.url));
  const child = fork(path, args, { execArgv: [], env: { ...process.env, BENCH_SECRET: benchSecret } });
  const ready = answerOf<{ port: number }>(child);
  child.send(order);
  const { port } = await ready;
  return {
    port,
    pid: child.pid as number,
    stop: async () => {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.disconnect();
      await gone;
    },
  };
}

/** Sends load from a process of its own and gives what it measured. */
export async function sendLoad(order: LoadOrder): Promise<LoadReport> {
  const child = fork(fileURLToPath(new URL('./load.mjs', import.meta.url)), [], { execArgv: [] });
  const report = answerOf<LoadReport>(child);
  child.send(order);
  return report;
}

function answerOf<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as T));
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`${child.spawnargs.join(' ')} ended with ${code}`)));
  });
}

/** Seconds of CPU that a process has used so far; 0 where /proc is not there. */
export function cpuSeconds(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return 0;
  }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}
