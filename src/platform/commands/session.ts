import { readdirSync, readFileSync } from 'node:fs';
import { type ProcessStat, parseProcessStat } from '../process-stat.ts';

/**
 * Signals every process of a session that was made for one command: its process group, and the groups that the command
 * made itself, as shells with job control and `timeout` do. A session that is gone already is fine. Where there is no
 * /proc only the group is reached. What begins a session of its own (`setsid`, a daemon) is out of reach everywhere.
 */
export function signalSession(leader: number, signal: NodeJS.Signals): void {
  signalOne(-leader, signal);
  for (const pid of membersOf(leader)) signalOne(pid, signal);
}

/**
 * SIGKILL for every process whose environment names this text, such as the folder of a shim that died before it could
 * say what it had started; with its whole session where it leads one. Nothing where there is no /proc.
 */
export function killByEnvironment(text: string): void {
  for (const pid of processIds()) {
    if (!environmentOf(pid).includes(text)) continue;
    if (placeOf(pid).session === pid) signalSession(pid, 'SIGKILL');
    else signalOne(pid, 'SIGKILL');
  }
}

function signalOne(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {}
}

/** Those outside the leader's group: the others have the signal already. */
function membersOf(leader: number): number[] {
  return processIds().filter((pid) => {
    const { group, session } = placeOf(pid);
    return session === leader && group !== leader;
  });
}

function processIds(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch {
    return '';
  }
}

function placeOf(pid: number): Partial<ProcessStat> {
  try {
    return parseProcessStat(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return {};
  }
}
