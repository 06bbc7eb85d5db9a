import type { HealthCheck } from '../admin/index.ts';
import type { JournalWriter } from '../inbound/index.ts';
import type { Pool } from '../platform/db.ts';
import { readSchemaState } from '../platform/migrate.ts';
import type { WorkerProcess } from './worker-process.ts';

/** Ready means: the database answers, its schema is this version's, the writer's queue has room, the worker works. */
export function createHealthCheck(deps: {
  pool: Pool;
  journal: JournalWriter;
  worker: WorkerProcess | undefined;
}): HealthCheck {
  return async () => {
    const reasons = await schemaReasons(deps.pool);
    if (deps.journal.isFull) reasons.push("the writer's queue is full");
    if (deps.worker?.problem !== undefined) reasons.push(deps.worker.problem);
    return { alive: true, ready: reasons.length === 0, reasons };
  };
}

async function schemaReasons(pool: Pool): Promise<string[]> {
  try {
    const { pending } = await readSchemaState(pool);
    return pending[0] === undefined
      ? []
      : [`the database lacks migration ${pending[0].name}; run: posthorn migrate`];
  } catch (error) {
    return [`the database does not answer (${(error as Error).message})`];
  }
}
