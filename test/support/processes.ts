import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** Signals a process that may be gone by now; false if it is. */
export function signal(pid: number | undefined, name: NodeJS.Signals): boolean {
  if (pid === undefined) return false;
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** The living processes that `parent` started. */
export function childrenOf(parent: number): number[] {
  const all = process.platform === 'linux' ? fromProc() : fromPs();
  return all.filter(({ ppid, isZombie }) => ppid === parent && !isZombie).map(({ pid }) => pid);
}

type Row = { pid: number; ppid: number; isZombie: boolean };

function fromProc(): Row[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const line = readFileSync(`/proc/${name}/stat`, 'utf8');
        // The program's name stands in brackets and may hold anything.
        const [state, ppid] = line.slice(line.lastIndexOf(')') + 2).split(' ');
        return [{ pid: Number(name), ppid: Number(ppid), isZombie: state === 'Z' }];
      } catch {
        return [];
      }
    });
}

function fromPs(): Row[] {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], { encoding: 'utf8' });
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .map(([pid, ppid, stat = '']) => ({
      pid: Number(pid),
      ppid: Number(ppid),
      isZombie: stat.startsWith('Z'),
    }));
}
