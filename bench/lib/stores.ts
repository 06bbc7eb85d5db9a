import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPool, type DatabaseAddress, type Pool } from '../../src/platform/db.ts';
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres/index.ts';
import { createLog } from '../../src/platform/log.ts';
import { migrate } from '../../src/platform/migrate.ts';
import { databaseUrl } from '../../test/support/database-url.ts';
import { freePort } from '../../test/support/free-port.ts';
import { childrenOf } from '../../test/support/processes.ts';
import { cpuSeconds } from './contender.ts';

export type BenchPostgres = {
  readonly address: DatabaseAddress;
  readonly url: string;
  readonly pool: Pool;
  /** Empties the journal and flushes what the run before left behind. */
  reset(): Promise<void>;
  /** Seconds of CPU of the postmaster and everything that it started. */
  cpuSeconds(): number;
  stop(): Promise<void>;
};

/** An embedded PostgreSQL with fsync on, in a temporary folder. */
export async function startPostgres(settings: Record<string, string> = {}): Promise<BenchPostgres> {
  const dataDir = mkdtempSync(join(tmpdir(), 'posthorn-bench-'));
  chmodSync(dataDir, 0o755);
  const log = createLog({ level: 'error' });
  const server = await startEmbeddedPostgres({
    dataDir,
    log,
    settings,
    onLost: (error) => {
      throw error;
    },
  });
  const pool = createPool({ address: server.connection, name: 'bench', most: 2, log });
  await migrate(pool, log);
  const postmaster = Number(
    readFileSync(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8').split('\n')[0],
  );
  return {
    address: server.connection,
    url: databaseUrl(server.connection),
    pool,
    reset: async () => {
      await pool.query(
        'truncate posthorn.events, posthorn.event_bodies, posthorn.runs, posthorn.run_attempts',
      );
      await pool.query('checkpoint');
    },
    cpuSeconds: () => processTree(postmaster).reduce((sum, pid) => sum + cpuSeconds(pid), 0),
    stop: async () => {
      await pool.end();
      await server.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** A Redis that flushes every write, or undefined where none is installed. */
export async function startRedis(): Promise<
  { port: number; pid: number; stop(): Promise<void> } | undefined
> {
  if (spawnSync('redis-server', ['--version']).status !== 0) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-bench-redis-'));
  const port = await freePort();
  const settings = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    folder,
    '--save',
    '',
    '--appendonly',
    'yes',
    '--appendfsync',
    'always',
  ];
  const redis: ChildProcess = spawn('redis-server', settings, { stdio: 'ignore' });
  const gone = new Promise((resolve) => redis.once('exit', resolve));
  while (!(await accepts(port))) await new Promise((resolve) => setTimeout(resolve, 20));
  return {
    port,
    pid: redis.pid as number,
    stop: async () => {
      redis.kill('SIGTERM');
      await gone;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function processTree(root: number): number[] {
  return [root, ...childrenOf(root)];
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
