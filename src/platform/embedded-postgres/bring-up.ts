import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../core/errors.ts';
import type { Cluster } from './cluster.ts';
import { maintenanceConnection } from './connection-file.ts';
import {
  closeQuietly,
  endBackend,
  findLockHolder,
  type LockSession,
  openLockSession,
  tryLock,
} from './lock-store.ts';
import { inspectPostmaster, type Postmaster, removeStalePidFile } from './postmaster.ts';
import { hasCode } from './private-file.ts';
import { type Address, chooseAddress } from './settings.ts';
import { startPostmaster } from './start-postmaster.ts';

/** A postmaster that answers, and the lock on it. `started`: by us, now; else it was running. */
export type Held = LockSession & { address: Address; started: boolean };

export type BringUpOptions = {
  /** Of the lock's session; a session of this name that still holds the lock is our own, of a broken connection. */
  sessionName: string;
  /** Kept where it is still free, so that the pools of a running process find the database again. */
  formerAddress: Address | undefined;
  /** How long something that we can neither use nor end may be in the way. */
  patienceMs: number;
  /** False only joins: where nobody answers, NOT_RUNNING is thrown. */
  mayStart: boolean;
  signal: AbortSignal;
};

const pollMs = 50;
const obstaclePollMs = 250;
// A killed process gives its lock back within milliseconds; whoever holds it longer is alive.
const lockPatienceMs = 1_000;

/** Joins the postmaster that is there, or starts one and joins that; and takes the lock, or throws DATA_DIR_IN_USE. */
export async function bringUp(cluster: Cluster, options: BringUpOptions): Promise<Held> {
  let started = false;
  let portTaken = false;
  let awaited = false;
  let giveUpAt = performance.now() + options.patienceMs;
  for (;;) {
    options.signal.throwIfAborted();
    const postmaster = await inspectPostmaster(cluster);
    const joined = await join(cluster, { ...options, postmaster });
    if (typeof joined === 'object') return { ...joined, started };
    // It says itself that it is starting, recovering or stopping: that takes as long as it takes.
    if (joined === 'not_yet') {
      giveUpAt = performance.now() + options.patienceMs;
      if (!awaited)
        cluster.log.info({ event: 'postgres.awaited' }, 'PostgreSQL is starting, recovering or stopping');
      awaited = true;
    }
    if (joined === 'nobody') {
      if (!options.mayStart)
        throw new AppError('NOT_RUNNING', 'No PostgreSQL runs there: start Posthorn first.');
      const outcome = await start(cluster, { ...options, postmaster });
      started ||= outcome === 'started';
      portTaken = outcome === 'port_taken';
      if (outcome === 'started') giveUpAt = performance.now() + options.patienceMs;
      if (outcome === 'busy') await sleep(obstaclePollMs, undefined, { signal: options.signal });
    } else {
      await sleep(pollMs, undefined, { signal: options.signal });
    }
    if (performance.now() < giveUpAt) continue;
    throw portTaken ? noPort(cluster) : inTheWay(cluster, await inspectPostmaster(cluster));
  }
}

type Found = { postmaster: Postmaster };
type Unjoined = 'nobody' | 'not_yet' | 'silent';

async function join(
  cluster: Cluster,
  { postmaster, ...options }: BringUpOptions & Found,
): Promise<(LockSession & { address: Address }) | Unjoined> {
  if (postmaster.state !== 'living' && postmaster.state !== 'unknown') return 'nobody';
  const otherwise = postmaster.state === 'living' ? 'silent' : 'nobody';
  const { address } = postmaster;
  if (!address) return otherwise;
  const connection = await maintenanceConnection(cluster, address);
  let session: LockSession | undefined;
  try {
    session = await openLockSession(connection, options.sessionName);
    await takeLock(session, options);
    return { ...session, address };
  } catch (error) {
    if (session) await closeQuietly(session.client);
    if (error instanceof AppError || options.signal.aborted) throw error;
    // 57P01 to 57P03: shut down by an administrator, by a crash, or not yet up.
    if (hasCode(error, '57P01', '57P02', '57P03')) return 'not_yet';
    if (hasCode(error, '28P01', '28000') && postmaster.state === 'living') throw lockedOut(cluster, error);
    return otherwise;
  }
}

async function takeLock({ client }: LockSession, { sessionName, signal }: BringUpOptions): Promise<void> {
  const giveUpAt = performance.now() + lockPatienceMs;
  while (!(await tryLock(client))) {
    const holder = await findLockHolder(client);
    if (holder?.name === sessionName) await endBackend(client, holder.backend);
    else if (performance.now() > giveUpAt) throw inUse(holder?.name);
    await sleep(pollMs, undefined, { signal });
  }
}

async function start(
  cluster: Cluster,
  { postmaster, formerAddress, signal }: BringUpOptions & Found,
): Promise<Awaited<ReturnType<typeof startPostmaster>>> {
  if (await removeStalePidFile(cluster, postmaster)) {
    const message = 'postmaster.pid of a PostgreSQL that is gone was removed';
    cluster.log.warn({ event: 'postgres.pid_file_removed', state: postmaster.state }, message);
  }
  const address = await chooseAddress(cluster.directory, formerAddress);
  const outcome = await startPostmaster(cluster, { address, signal });
  if (outcome === 'port_taken') {
    cluster.log.info({ event: 'postgres.port_taken', port: address.port }, 'another port is chosen');
  }
  return outcome;
}

function inUse(holder: string | undefined): AppError {
  const pid = /^posthorn-(\d+)-/.exec(holder ?? '')?.[1];
  return new AppError(
    'DATA_DIR_IN_USE',
    `Another Posthorn${pid ? ` (process ${pid})` : ''} is using this data directory, and only one may: ` +
      'stop that one, or choose another data directory.',
  );
}

function lockedOut(cluster: Cluster, cause: unknown): AppError {
  return new AppError(
    'DATA_DIR_UNUSABLE',
    `The PostgreSQL in ${cluster.data} refuses the password that stands beside it: somebody changed the password of ` +
      'the user posthorn. Set it to what connection.json says, or write the new one into posthorn.password.',
    { cause },
  );
}

function inTheWay(cluster: Cluster, postmaster: Postmaster): AppError {
  const file = `${cluster.data}/postmaster.pid`;
  const mend = `If no PostgreSQL works in that directory (look with \`ps\`), remove ${file} and start again.`;
  const what =
    postmaster.state === 'absent'
      ? 'processes of a former PostgreSQL still use its data, though postmaster.pid is gone'
      : `${file} names process ${postmaster.pid}, which is there but does not answer as this database`;
  return new AppError('EMBEDDED_POSTGRES_FAILED', `PostgreSQL cannot start: ${what}. ${mend}`);
}

function noPort({ logFile }: Cluster): AppError {
  return new AppError(
    'EMBEDDED_POSTGRES_FAILED',
    `Each address that PostgreSQL tried to listen on was taken: end what listens there. The log is ${logFile}.`,
  );
}
