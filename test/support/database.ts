import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { createPool, type DatabaseAddress, type Pool } from '../../src/platform/db.ts';
import { createLog, type Log } from '../../src/platform/log.ts';
import { databaseUrl } from './database-url.ts';

export const quietLog: Log = createLog({ level: 'silent' });

export type TestDatabase = {
  readonly address: Exclude<DatabaseAddress, { connectionString: string }>;
  readonly url: string;
  readonly pool: Pool;
  drop(): Promise<void>;
};

/** A database of the file's own, cloned from the migrated template (or empty). Its name ends in `_test`. */
export async function createTestDatabase({
  template = 'posthorn_template_test',
} = {}): Promise<TestDatabase> {
  const server = inject('postgres');
  const name = `t_${randomBytes(6).toString('hex')}_test`;
  const admin = createPool({
    address: { ...server, database: 'postgres' },
    name: 'test admin',
    most: 1,
    log: quietLog,
    // Making and dropping a database waits for a checkpoint, which takes long on a busy disk.
    statementTimeoutMs: 60_000,
  });
  await admin.query(`create database ${name} template ${template}`);
  const address = { ...server, database: name };
  const pool = createPool({ address, name: 'test', most: 5, log: quietLog });
  return {
    address,
    url: databaseUrl(address),
    pool,
    drop: async () => {
      await pool.end();
      await admin.query(`drop database ${name} with (force)`);
      await admin.end();
    },
  };
}
