import { expireLeases } from '../inbound/index.ts';
import type { Pool } from '../platform/db.ts';
import type { Log } from '../platform/log.ts';
import type { Configuration } from './configuration.ts';
import type { Database } from './database.ts';
import { WorkerProcess } from './worker-process.ts';

/** The worker role: a child process with this configuration's handlers, not started yet. */
export function createWorker(
  configuration: Configuration,
  database: Database,
  { log, pool, isBesideGateway }: { log: Log; pool: Pool; isBesideGateway: boolean },
): WorkerProcess {
  return new WorkerProcess(
    {
      address: database.address,
      directAddress: database.directAddress,
      logLevel: configuration.log.level,
      isBesideGateway,
      sources: configuration.sources,
      folder: configuration.folder,
      dataDir: configuration.dataDir,
      handlers: configuration.handlers,
    },
    { log, onDeath: (holder) => expireLeases(pool, holder) },
  );
}
