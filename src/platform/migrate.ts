import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { AppError } from '../core/errors.ts';
import { inTransaction, type Pool, type PoolClient, sqlState } from './db.ts';
import type { Log } from './log.ts';
import {
  type AppliedMigration,
  createMigrationTable,
  listAppliedMigrations,
  lockMigrations,
  readServerFacts,
  recordMigration,
  runMigrationText,
  setLockTimeout,
  unlockMigrations,
} from './migrate-store.ts';

export type Migration = AppliedMigration & { readonly sql: string };
export type SchemaState = { readonly applied: number; readonly pending: Migration[] };

const migrationsFolder = fileURLToPath(new URL('../../db/migrations/', import.meta.url));
const leastServerVersion = 150_000;

/**
 * Brings the schema `posthorn` to this version: forward-only, one transaction a file, one process at a time.
 * Gives the names of the migrations that were applied. Refuses a schema that a newer posthorn made.
 */
export async function migrate(pool: Pool, log: Log): Promise<string[]> {
  await checkServer(pool, log);
  const client = await pool.connect();
  try {
    await setLockTimeout(client);
    while (!(await lockMigrations(client))) await wait(200);
    // Nothing is written where nothing is pending: a database that is read-only just now does not stop a start.
    const { pending } = await readSchemaState(client);
    if (pending.length > 0) await createMigrationTable(client);
    for (const migration of pending) await applyWithRetries(client, migration, log);
    await unlockMigrations(client);
    return pending.map(({ name }) => name);
  } finally {
    // The session's lock and settings end with its connection, whatever happened.
    client.release(true);
  }
}

/** Which migrations this database lacks. Throws SCHEMA_NEWER for one that a newer posthorn made. */
export async function readSchemaState(db: Pool | PoolClient): Promise<SchemaState> {
  const applied = await listAppliedMigrations(db);
  const known = listMigrations();
  for (const { version, name, checksum } of applied) {
    const ours = known.find((migration) => migration.version === version);
    if (ours === undefined) {
      throw new AppError(
        'SCHEMA_NEWER',
        `The database holds migration ${name}, which this version of posthorn does not know. Start a newer posthorn.`,
      );
    }
    if (ours.checksum !== checksum) {
      throw new AppError(
        'MIGRATION_FAILED',
        `Migration ${name} differs from the one that was applied to this database. Install the posthorn that made it.`,
      );
    }
  }
  return { applied: applied.length, pending: known.slice(applied.length) };
}

/** Throws SCHEMA_OUTDATED naming the first missing migration; the process must not become ready. */
export async function requireCurrentSchema(pool: Pool, { isPooled = false } = {}): Promise<void> {
  const { pending } = await readSchemaState(pool);
  if (pending[0] === undefined) return;
  const first = isPooled ? 'Set database.directUrl, past the pooler, then run' : 'Run';
  throw new AppError(
    'SCHEMA_OUTDATED',
    `The database lacks migration ${pending[0].name}. ${first}: posthorn migrate (or start with --migrate)`,
  );
}

/** The migrations of this version, in order. */
export function listMigrations(): Migration[] {
  return readdirSync(migrationsFolder)
    .filter((file) => /^\d{4}_\w+\.sql$/.test(file))
    .sort()
    .map((file) => {
      const sql = readFileSync(join(migrationsFolder, file), 'utf8');
      const name = file.slice(0, -'.sql'.length);
      return {
        version: Number(file.slice(0, 4)),
        name,
        sql,
        checksum: createHash('sha256').update(sql).digest('hex'),
      };
    });
}

async function checkServer(pool: Pool, log: Log): Promise<void> {
  const facts = await readServerFacts(pool);
  if (facts.version < leastServerVersion) {
    throw new AppError(
      'DATABASE_UNSUPPORTED',
      `This PostgreSQL is version ${Math.floor(facts.version / 10_000)}; posthorn needs 15 or newer.`,
    );
  }
  if (facts.encoding !== 'UTF8') {
    throw new AppError(
      'DATABASE_UNSUPPORTED',
      `The database's encoding is ${facts.encoding}; posthorn needs UTF8: create database ... encoding 'UTF8'.`,
    );
  }
  warnOfWeakDurability(facts, log);
}

/** An acknowledged webhook is only as durable as these settings of the server. */
export function warnOfWeakDurability(
  facts: { fsync: string; full_page_writes: string; synchronous_commit: string },
  log: Log,
): void {
  for (const setting of ['fsync', 'full_page_writes'] as const) {
    if (facts[setting] !== 'off') continue;
    log.warn(
      { event: 'database.durability_weak', setting },
      `${setting} is off: acknowledged webhooks can be lost in a power cut; switch it on`,
    );
  }
}

async function applyWithRetries(client: PoolClient, migration: Migration, log: Log): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await apply(client, migration);
      log.info(
        { event: 'migration.applied', migration: migration.name },
        `applied migration ${migration.name}`,
      );
      return;
    } catch (cause) {
      // 55P03: somebody holds a lock that we need. Waiting in line would block their followers too.
      if (sqlState(cause) === '55P03' && attempt < 30) {
        await wait(1_000);
        continue;
      }
      const reason = (cause as Error).message;
      throw new AppError(
        'MIGRATION_FAILED',
        `Migration ${migration.name} failed: ${reason}. Nothing of it was kept.`,
        { cause },
      );
    }
  }
}

async function apply(client: PoolClient, migration: Migration): Promise<void> {
  // Such a file holds re-runnable statements (create index concurrently ...), each ended by a `;` at the end of a line:
  // several in one message would be a transaction.
  if (migration.sql.startsWith('-- no transaction')) {
    for (const statement of migration.sql.split(/;\s*$/m)) await runMigrationText(client, statement);
    return recordMigration(client, migration);
  }
  return inTransaction(client, async () => {
    await runMigrationText(client, migration.sql);
    await recordMigration(client, migration);
  });
}
