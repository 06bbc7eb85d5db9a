import { spawn } from 'node:child_process';
import { readFile, readlink, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { parseProcessStat } from '../process-stat.ts';
import { hasCode } from './private-file.ts';
import type { RunUser } from './run-user.ts';

/** Where a process works, seen from one directory. `hidden`: it lives, and we may not look. Linux only (/proc). */
export type Sight = { at: 'here'; program: string } | { at: 'elsewhere' | 'gone' | 'hidden' };

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, 'EPERM');
  }
}

export async function isZombie(pid: number): Promise<boolean> {
  const line = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return /^[ZX]/.test(parseProcessStat(line).state);
}

/**
 * PostgreSQL's processes have the data directory as their working directory. Compared as inodes: a path may lie.
 * Root in a container often lacks the right to look at other users' processes, which those users themselves have.
 */
export async function lookAt(pids: number[], directory: string, user: RunUser): Promise<Map<number, Sight>> {
  const sights = new Map<number, Sight>();
  for (const pid of pids) sights.set(pid, await look(pid, directory));
  const hidden = pids.filter((pid) => sights.get(pid)?.at === 'hidden');
  if (!user.switched || hidden.length === 0) return sights;
  return new Map([...sights, ...(await lookAs(user, hidden, directory))]);
}

async function look(pid: number, directory: string): Promise<Sight> {
  try {
    const [there, here] = await Promise.all([stat(`/proc/${pid}/cwd`), stat(directory)]);
    if (there.dev !== here.dev || there.ino !== here.ino) return { at: 'elsewhere' };
    return { at: 'here', program: programOf(await readlink(`/proc/${pid}/exe`)) };
  } catch (error) {
    return { at: hasCode(error, 'ENOENT', 'ESRCH') ? 'gone' : 'hidden' };
  }
}

const lookScript = `
  directory=$1; shift
  for pid; do
    if [ "/proc/$pid/cwd" -ef "$directory" ]; then echo "$pid here $(readlink "/proc/$pid/exe")"
    elif [ -e "/proc/$pid/cwd" ]; then echo "$pid elsewhere"
    fi
  done`;

/** What it says nothing about stays hidden. */
async function lookAs({ uid, gid }: RunUser, pids: number[], directory: string): Promise<Map<number, Sight>> {
  const child = spawn('/bin/sh', ['-c', lookScript, 'sh', directory, ...pids.map(String)], {
    cwd: '/',
    env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
    stdio: ['ignore', 'pipe', 'ignore'],
    uid,
    gid,
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  await new Promise((resolve) => child.once('close', resolve).once('error', resolve));
  return new Map([...output.matchAll(/^(\d+) (?:(elsewhere)|here (.*))$/gm)].map(readSight));
}

function readSight([, pid, elsewhere, program = '']: RegExpMatchArray): [number, Sight] {
  return [Number(pid), elsewhere ? { at: 'elsewhere' } : { at: 'here', program: programOf(program) }];
}

// An upgrade replaces the file of a program that runs.
const programOf = (path: string): string => basename(path.replace(/ \(deleted\)$/, ''));
