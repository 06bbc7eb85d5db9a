import type { Pool, PoolClient, Queryable } from './db.ts';

export type AppliedMigration = { version: number; name: string; checksum: string };

/** Migrations of one database run one after the other: this key is posthorn's alone. */
const migrationLock = 7_051_184_001;

export async function lockMigrations(client: PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [
    migrationLock,
  ]);
  return rows[0]?.locked === true;
}

export async function unlockMigrations(client: PoolClient): Promise<void> {
  await client.query('select pg_advisory_unlock($1)', [migrationLock]);
}

export async function createMigrationTable(client: PoolClient): Promise<void> {
  await client.query(`
    create schema if not exists posthorn;
    create table if not exists posthorn.migrations (
      version integer primary key,
      name text not null,
      checksum text not null,
      applied_at timestamptz not null default now()
    )`);
}

/** Empty where posthorn was never installed in this database. */
export async function listAppliedMigrations(db: Queryable): Promise<AppliedMigration[]> {
  const { rows: found } = await db.query<{ present: boolean }>(
    `select to_regclass('posthorn.migrations') is not null as present`,
  );
  if (!found[0]?.present) return [];
  const { rows } = await db.query<AppliedMigration>(
    'select version, name, checksum from posthorn.migrations order by version',
  );
  return rows;
}

export async function recordMigration(client: Queryable, migration: AppliedMigration): Promise<void> {
  await client.query('insert into posthorn.migrations (version, name, checksum) values ($1, $2, $3)', [
    migration.version,
    migration.name,
    migration.checksum,
  ]);
}

/** `lock_timeout` keeps a migration from queueing every other statement behind itself. */
export async function setLockTimeout(client: Queryable): Promise<void> {
  await client.query(`set lock_timeout = '2s'; set statement_timeout = 0`);
}

export async function runMigrationText(client: Queryable, sql: string): Promise<void> {
  await client.query(sql);
}

export type ServerFacts = {
  version: number;
  encoding: string;
  fsync: string;
  full_page_writes: string;
  synchronous_commit: string;
};

/** What the start checks about the server: version as 180004, and the settings that durability hangs on. */
export async function readServerFacts(pool: Pool): Promise<ServerFacts> {
  const { rows } = await pool.query<ServerFacts>(`
    select current_setting('server_version_num')::int as version,
      current_setting('server_encoding') as encoding,
      current_setting('fsync') as fsync,
      current_setting('full_page_writes') as full_page_writes,
      current_setting('synchronous_commit') as synchronous_commit`);
  return rows[0] as ServerFacts;
}
