import pg from 'pg';
import { type EmbeddedConnection, ownDatabase } from './connection-file.ts';

/**
 * The lock that makes a process the owner of a cluster: a session advisory lock in the database `postgres`. The
 * server gives it back in the moment in which the session ends, however the owner ended.
 */
const lockKey = [0x706f7374, 0x686f726e] as const; // "post", "horn"

/** `closed` resolves once the connection has ended, whoever ended it. It never rejects. */
export type LockSession = { client: pg.Client; closed: Promise<void> };

/** `name` shows in pg_stat_activity, so that whoever finds the lock taken can say by whom. */
export async function openLockSession(connection: EmbeddedConnection, name: string): Promise<LockSession> {
  const client = new pg.Client({
    ...connection,
    application_name: name,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    // The session is idle all its life; a setting that ends idle ones would give the lock away.
    options: '-c idle_session_timeout=0 -c statement_timeout=0',
  });
  client.on('error', () => {});
  const closed = new Promise<void>((resolve) => client.once('end', () => resolve()));
  try {
    await client.connect();
  } catch (error) {
    await closeQuietly(client);
    throw error;
  }
  return { client, closed };
}

export async function tryLock(client: pg.Client): Promise<boolean> {
  const sql = 'select pg_try_advisory_lock($1, $2) as locked';
  const { rows } = await client.query<{ locked: boolean }>(sql, [...lockKey]);
  return rows[0]?.locked === true;
}

export async function findLockHolder(
  client: pg.Client,
): Promise<{ backend: number; name: string } | undefined> {
  const { rows } = await client.query<{ backend: number; name: string | null }>(
    `select l.pid as backend, a.application_name as name
       from pg_locks l left join pg_stat_activity a on a.pid = l.pid
      -- objsubid 2: a lock of two keys
      where l.locktype = 'advisory' and l.classid = $1 and l.objid = $2 and l.objsubid = 2 and l.granted`,
    [...lockKey],
  );
  const row = rows[0];
  return row ? { backend: row.backend, name: row.name ?? '' } : undefined;
}

export async function endBackend(client: pg.Client, backend: number): Promise<void> {
  await client.query('select pg_terminate_backend($1, 5000)', [backend]);
}

export async function createOwnDatabase(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query('select from pg_database where datname = $1', [ownDatabase]);
  // No "if not exists" for a database; nobody can come between, for the caller holds the lock.
  if (!rowCount) await client.query(`create database ${ownDatabase}`);
}

/** True where a database answers to this address and password. */
export async function answers(connection: EmbeddedConnection): Promise<boolean> {
  const client = new pg.Client({ ...connection, connectionTimeoutMillis: 2_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await closeQuietly(client);
  }
}

export async function closeQuietly(client: pg.Client): Promise<void> {
  await client.end().catch(() => {});
}
