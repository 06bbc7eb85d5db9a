import { link, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readIfPresent } from './private-file.ts';
import { isAlive, isZombie, lookAt } from './process-table.ts';
import type { RunUser } from './run-user.ts';
import type { Address } from './settings.ts';

/**
 * What postmaster.pid and the process table say together:
 *   absent    no file
 *   dead      no such process; PostgreSQL sees that too and starts
 *   zombie    it ended, but its parent (a container's first process, often) never asked; PostgreSQL takes it for alive
 *   foreign   provably something else: the number was given out again after a crash of the machine
 *   living    PostgreSQL, at work in this directory
 *   unknown   something lives under that number, and we may not look what, or it sits in our directory
 */
export type Postmaster =
  | { state: 'absent' }
  | {
      state: 'dead' | 'zombie' | 'foreign' | 'living' | 'unknown';
      pid: number;
      /** Where it listens. Absent while it has not got so far. The file is right even where another process chose. */
      address: Address | undefined;
      text: string;
    };

const pidFileIn = (data: string): string => join(data, 'postmaster.pid');

type Place = { data: string; user: RunUser };

export async function inspectPostmaster(place: Place): Promise<Postmaster> {
  const text = await readIfPresent(pidFileIn(place.data));
  const lines = text?.split('\n') ?? [];
  const pid = Math.abs(Number.parseInt(lines[0] ?? '', 10));
  if (!text || !pid) return { state: 'absent' };
  return { state: await stateOf(pid, place), pid, address: addressIn(lines), text };
}

// Lines: pid, directory, start, port, socket's folder, first listen address, shared memory, status.
function addressIn(lines: string[]): Address | undefined {
  const [port, folder, listen] = [Number(lines[3]), lines[4], lines[5]];
  if (!port || lines.length < 7) return undefined;
  const host = folder || listen;
  return host ? { host, port } : undefined;
}

async function stateOf(pid: number, { data, user }: Place): Promise<(Postmaster & { pid: number })['state']> {
  if (!isAlive(pid)) return 'dead';
  if (process.platform !== 'linux') return 'unknown';
  if (await isZombie(pid)) return 'zombie';
  const sight = (await lookAt([pid], data, user)).get(pid);
  if (sight?.at === 'gone') return 'dead';
  if (sight?.at === 'elsewhere') return 'foreign';
  return sight?.at === 'here' && sight.program === 'postgres' ? 'living' : 'unknown';
}

/**
 * Removes a postmaster.pid that PostgreSQL would refuse to start over, where it is safe: its process is a zombie or
 * provably something else, and nobody at all works in the directory (a dead postmaster's children live on for a
 * second or two, and a second postmaster beside them would damage the data).
 */
export async function removeStalePidFile(place: Place, postmaster: Postmaster): Promise<boolean> {
  const { data } = place;
  if (postmaster.state !== 'zombie' && postmaster.state !== 'foreign') return false;
  if (!(await isDeserted(place))) return false;
  // Moved, looked at, then removed: a postmaster that started since then has written a file of its own.
  const aside = `${pidFileIn(data)}.stale-${process.pid}`;
  await rename(pidFileIn(data), aside).catch(() => {});
  const moved = await readIfPresent(aside);
  if (moved !== undefined && moved !== postmaster.text) await link(aside, pidFileIn(data)).catch(() => {});
  await rm(aside, { force: true });
  if (moved !== postmaster.text) return false;
  await removeSocketLock(postmaster);
  return true;
}

// Beside its socket the postmaster keeps a second file with its number, and would refuse to start over that too.
async function removeSocketLock({
  pid,
  address,
}: {
  pid: number;
  address: Address | undefined;
}): Promise<void> {
  if (!address?.host.startsWith('/')) return;
  const path = join(address.host, `.s.PGSQL.${address.port}.lock`);
  const holder = Number.parseInt((await readIfPresent(path)) ?? '', 10);
  if (Math.abs(holder) === pid) await rm(path, { force: true });
}

async function isDeserted({ data, user }: Place): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  const pids = (await readdir('/proc')).map(Number).filter((pid) => Number.isInteger(pid) && pid > 0);
  for (const [pid, { at }] of await lookAt(pids, data, user)) {
    if (at === 'here') return false;
    // Only a process of the run user can be at work in a directory of its, and this one hides where it is.
    if (at === 'hidden' && (await ownerOf(pid)) === user.uid && !(await isZombie(pid))) return false;
  }
  return true;
}

async function ownerOf(pid: number): Promise<number | undefined> {
  return (await stat(`/proc/${pid}`).catch(() => undefined))?.uid;
}
