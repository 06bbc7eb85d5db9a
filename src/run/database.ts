import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '../core/errors.ts';
import { environment } from '../platform/config.ts';
import {
  createPool,
  type DatabaseAddress,
  isPooledAddress,
  type Pool,
  requireReachable,
} from '../platform/db.ts';
import { findEmbeddedPostgres, startEmbeddedPostgres } from '../platform/embedded-postgres/index.ts';
import type { Log } from '../platform/log.ts';
import { migrate, requireCurrentSchema } from '../platform/migrate.ts';
import type { Configuration } from './configuration.ts';

export type Database = {
  readonly address: DatabaseAddress;
  /** For migrations and LISTEN: past a pooler where the configuration says how. */
  readonly directAddress: DatabaseAddress;
  readonly isEmbedded: boolean;
  stop(): Promise<void>;
};

/**
 * The database of a configuration: the one that DATABASE_URL or `database.url` names, else an embedded one in the
 * data directory, which is started (or taken over) and held under a lock until `stop`.
 */
export async function openDatabase(
  configuration: Configuration,
  { log, onLost }: { log: Log; onLost: (error: AppError) => void },
): Promise<Database> {
  const { url, directUrl, pooler } = configuration.database;
  if (url !== undefined) {
    const address = { connectionString: url, isPooled: pooler };
    const directAddress = directUrl === undefined ? address : { connectionString: directUrl };
    return { address, directAddress, isEmbedded: false, stop: async () => {} };
  }
  const packageDir = environment.POSTHORN_POSTGRES_PACKAGE || undefined;
  const embedded = await startEmbeddedPostgres({ dataDir: configuration.dataDir, log, packageDir, onLost });
  const address = embedded.connection;
  return { address, directAddress: address, isEmbedded: true, stop: () => embedded.stop() };
}

/**
 * For a command's own time: the running embedded database if there is one, else it is started under the same lock.
 * One that is just being started or stopped by somebody else is waited for.
 */
export async function borrowDatabase(configuration: Configuration, log: Log): Promise<Database> {
  if (configuration.database.url !== undefined) return openDatabase(configuration, { log, onLost: () => {} });
  for (let attempt = 1; ; attempt++) {
    const running = await findEmbeddedPostgres(configuration.dataDir);
    if (running !== undefined)
      return { address: running, directAddress: running, isEmbedded: true, stop: async () => {} };
    try {
      return await openDatabase(configuration, { log, onLost: () => {} });
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'DATA_DIR_IN_USE') || attempt === 20) throw error;
      await wait(250);
    }
  }
}

/** Brings the schema up to date, or only checks that it is. */
export async function prepareSchema(
  database: Database,
  { log, apply }: { log: Log; apply: boolean },
): Promise<string[]> {
  return withPool(database.directAddress, log, async (pool) => {
    // Migrations hold a lock of their session, which a pooler would hand to others.
    const isPooled = isPooledAddress(database.directAddress);
    if (apply && !isPooled) return migrate(pool, log);
    await requireCurrentSchema(pool, { isPooled });
    return [];
  });
}

/** A small pool for a command; a database that does not answer becomes an error that says what to do. */
export async function withPool<T>(
  address: DatabaseAddress,
  log: Log,
  work: (pool: Pool) => Promise<T>,
): Promise<T> {
  const pool = createPool({ address, name: 'command', most: 2, log });
  try {
    await requireReachable(pool);
    return await work(pool);
  } finally {
    await pool.end();
  }
}
