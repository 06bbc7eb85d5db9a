import pg from 'pg';
import { AppError } from '../core/errors.ts';
import type { Log } from './log.ts';

export type Pool = pg.Pool;
export type PoolClient = pg.PoolClient;
/** Whatever a statement can be sent through: a pool, or one client of it inside a transaction. */
export type Queryable = Pick<pg.ClientBase, 'query'>;

/** How to reach the database: a URL as the user wrote it, or the parts of an embedded one. */
export type DatabaseAddress =
  | {
      readonly connectionString: string;
      /** Behind a transaction-mode pooler: no startup parameters, no named statements, no session state. */
      readonly isPooled?: boolean;
    }
  | {
      readonly host: string;
      readonly port: number;
      readonly user: string;
      readonly password: string;
      readonly database: string;
    };

export type PoolOptions = {
  readonly address: DatabaseAddress;
  /** Shows in pg_stat_activity and in the metrics, for example `ingest`. */
  readonly name: string;
  readonly most: number;
  readonly log: Log;
  /** The server ends a statement after this; default 10 s. */
  readonly statementTimeoutMs?: number;
  /** The client gives up on an answer after this and drops the connection; default: the statement's time-out and 2 s. */
  readonly queryTimeoutMs?: number;
  /**
   * Statements of this pool are planned once, and read by index whatever the planner thinks: made for an empty table, a plan
   * that is kept would read the whole table each time, until that is analyzed. Default false.
   */
  readonly byIndex?: boolean;
  /** Statements are sent without waiting for the answers to those before, in order. Default false. */
  readonly pipeline?: boolean;
  /** Awaited for each new connection before it is used. */
  readonly onConnect?: (client: Queryable) => Promise<void>;
  /** False leaves int8 as text, as node-postgres does by itself; for a user's own statements. Default true. */
  readonly numbers?: boolean;
};

/**
 * A pool whose clients never crash the process: each has an `error` listener, also while it is checked out.
 * int8 comes back as a number: our ids stay below 2^53.
 */
export function createPool(options: PoolOptions): Pool {
  const statementTimeoutMs = options.statementTimeoutMs ?? 10_000;
  const isPooled = isPooledAddress(options.address);
  const pool = new pg.Pool({
    ...options.address,
    max: options.most,
    connectionTimeoutMillis: 2_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    pipeline: options.pipeline === true,
    ...(options.onConnect === undefined || isPooled ? {} : { onConnect: options.onConnect }),
    query_timeout: options.queryTimeoutMs ?? statementTimeoutMs + 2_000,
    ...(options.numbers === false ? {} : { types: numberTypes }),
    ...(isPooled
      ? {}
      : {
          application_name: `posthorn ${options.name}`,
          ...(options.byIndex
            ? { options: '-c enable_seqscan=off -c plan_cache_mode=force_generic_plan' }
            : {}),
          statement_timeout: statementTimeoutMs,
          idle_in_transaction_session_timeout: 60_000,
        }),
  });
  pool.on('error', (error) =>
    options.log.warn(
      { event: 'database.idle_client_failed', pool: options.name, reason: error.message },
      'a database connection broke',
    ),
  );
  pool.on('connect', (client) => {
    client.on('error', () => {});
    if (isPooled) withoutNames(client);
  });
  return pool;
}

export function isPooledAddress(address: DatabaseAddress): boolean {
  return 'isPooled' in address && address.isPooled === true;
}

/** Behind a transaction-mode pooler a named statement would be prepared on one connection and run on another. */
function withoutNames(client: pg.ClientBase): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  const unnamed = (config: unknown, ...rest: unknown[]) => {
    const isNamed =
      typeof config === 'object' && config !== null && 'name' in config && !('submit' in config);
    return query(isNamed ? { ...config, name: undefined } : config, ...rest);
  };
  client.query = unnamed as typeof client.query;
}

/**
 * Runs `work` in one transaction on a client of its own. A throw rolls back; a connection that failed is thrown
 * away rather than given back to the pool.
 */
export async function withTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken = false;
  try {
    return await inTransaction(client, work, () => {
      broken = true;
    });
  } finally {
    client.release(broken);
  }
}

/** Runs `work` between begin and commit on a client that the caller holds. */
export async function inTransaction<T>(
  client: PoolClient,
  work: (client: PoolClient) => Promise<T>,
  onBroken: () => void = () => {},
): Promise<T> {
  try {
    // Whatever the database's default is: a statement must see what was committed before it, not before the first one.
    await client.query('begin isolation level read committed');
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch(onBroken);
    throw error;
  }
}

/** What `send` says over a connection that pipelines leaves in one packet: one write here, one read there. */
export function inOnePacket<T>(client: PoolClient, send: () => T): T {
  const { stream } = client.connection;
  stream.cork();
  try {
    return send();
  } finally {
    stream.uncork();
  }
}

/** SQLSTATE of an error that PostgreSQL answered; undefined where the connection or the client failed. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/** Whether the connection is at fault rather than what was said over it: it broke, or the server is going away. */
export function isConnectionFailure(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof AppError) return false;
  const state = sqlState(error);
  if (state !== undefined) return /^(08|57P)/.test(state);
  const isSocket = 'syscall' in error || (error instanceof AggregateError && error.errors.length > 0);
  return isSocket || /^(Connection terminated|timeout exceeded when trying to connect)/.test(error.message);
}

/** Throws DATABASE_UNREACHABLE if no connection can be made. */
export async function requireReachable(pool: Pool): Promise<void> {
  const client = await pool.connect().catch((cause) => {
    throw databaseUnreachable(cause);
  });
  client.release();
}

/** Turns a failure to reach the database into one that says what to do. Never holds the URL: it may carry a password. */
export function databaseUnreachable(cause: unknown): AppError {
  const reason =
    cause instanceof AggregateError ? String(cause.errors[0]?.message) : (cause as Error).message;
  return new AppError(
    'DATABASE_UNREACHABLE',
    `The database cannot be reached (${reason}). Check that it runs and that DATABASE_URL or database.url is right.`,
    { cause },
  );
}

const numberTypes = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 && format !== 'binary'
      ? Number
      : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
};
