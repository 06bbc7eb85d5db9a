import { readdirSync, readFileSync } from 'node:fs';

/**
 * Signals every process of a session that was made for one command: its process group, and the groups that the command
 * made itself, as shells with job control and `timeout` do. A session that is gone already is fine. Where there is no
 * /proc only the group is reached. What begins a session of its own (`setsid`, a daemon) is out of reach everywhere.
 */
export function signalSession(leader: number, signal: NodeJS.Signals): void {
  signalOne(-leader, signal);
  for (const pid of membersOf(leader)) signalOne(pid, signal);
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

/** proc_pid_stat(5): `pid (name) state ppid pgrp session ...`; the name may hold anything, parentheses too. */
function placeOf(pid: number): { group?: number; session?: number } {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [, , group, session] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { group: Number(group), session: Number(session) };
  } catch {
    return {};
  }
}
