import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { ChaosPostgres } from './cluster.ts';
import type { FaultKind } from './schedule.ts';

/** What is done to PostgreSQL (SAFE-2). Each ends with a database that answers again. */
export async function hurtPostgres(
  kind: FaultKind,
  { postgres, disk, forMs }: { postgres: ChaosPostgres; disk: string; forMs: number },
): Promise<void> {
  switch (kind) {
    case 'postmaster killed':
      await postgres.kill();
      return postgres.start();
    case 'restarted fast':
      await postgres.stop('fast');
      return postgres.start();
    case 'restarted immediate':
      await postgres.stop('immediate');
      return postgres.start();
    case 'connections cut':
      await postgres.query(cutAll);
      return;
    case 'paused':
    case 'postgres paused beyond the lease':
      postgres.pause();
      await wait(forMs).finally(() => postgres.resume());
      return postgres.start();
    case 'read-only':
      await setReadOnly(postgres, 'on');
      await wait(forMs);
      return setReadOnly(postgres, 'off');
    case 'disk full':
      return fillDisk(disk, async () => {
        await wait(forMs);
      }).finally(() => postgres.start());
    default:
      throw new Error(`"${kind}" is no fault of PostgreSQL`);
  }
}

const cutAll = `select count(pg_terminate_backend(pid)) from pg_stat_activity
  where backend_type = 'client backend' and pid <> pg_backend_pid()`;

/** For whole transactions that begin from now on; cut, so that those on their way do not go on writing. */
async function setReadOnly(postgres: ChaosPostgres, value: 'on' | 'off'): Promise<void> {
  await postgres.query(`alter system set default_transaction_read_only = ${value}`);
  await postgres.query(`select pg_reload_conf()`);
  await postgres.query(cutAll);
}

/** A ballast file takes what is left, to the last block; it is removed whatever happens. */
async function fillDisk(disk: string, meanwhile: () => Promise<void>): Promise<void> {
  const path = join(disk, 'ballast');
  const file = openSync(path, 'w');
  try {
    for (const bytes of [1024 * 1024, 4096]) writeUntilFull(file, Buffer.alloc(bytes));
    await meanwhile();
  } finally {
    closeSync(file);
    rmSync(path);
  }
}

function writeUntilFull(file: number, chunk: Buffer): void {
  for (;;) {
    try {
      if (writeSync(file, chunk) < chunk.length) return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return;
      throw error;
    }
  }
}
