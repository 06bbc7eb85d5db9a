import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { findPackage, prepareBinaries } from '../../src/platform/embedded-postgres/binaries.ts';
import { type Cluster, describeCluster } from '../../src/platform/embedded-postgres/cluster.ts';
import {
  type EmbeddedConnection,
  maintenanceConnection,
} from '../../src/platform/embedded-postgres/connection-file.ts';
import { ensureCluster } from '../../src/platform/embedded-postgres/create-cluster.ts';
import { giveTo } from '../../src/platform/embedded-postgres/private-file.ts';
import { findRunUser } from '../../src/platform/embedded-postgres/run-user.ts';
import { chooseAddress, writeSettings } from '../../src/platform/embedded-postgres/settings.ts';
import { createLog } from '../../src/platform/log.ts';
import { databaseUrl } from '../../test/support/database-url.ts';
import { childrenOf, signal } from '../../test/support/processes.ts';

/** Small enough for a small disk; durable as in earnest. */
const settings = {
  max_connections: '200',
  shared_buffers: '64MB',
  max_wal_size: '96MB',
  min_wal_size: '32MB',
  fsync: 'on',
};

export type Rows = Record<string, unknown>[];

/**
 * A PostgreSQL whose postmaster is this process's own child, so that it can be killed, stopped, paused and started
 * again. Whatever happened, `start` goes on until it answers: after a crash, or on a disk that was full, a first try
 * may well fail.
 */
export class ChaosPostgres {
  readonly #cluster: Cluster;
  readonly #connection: EmbeddedConnection;
  readonly #logFile: string;
  #postmaster: ChildProcess | undefined;
  #gone: Promise<void> = Promise.resolve();
  #paused: number[] = [];
  #isOver = false;
  /** Tries of a start that failed. */
  failedStarts = 0;

  private constructor(cluster: Cluster, connection: EmbeddedConnection, logFile: string) {
    this.#cluster = cluster;
    this.#connection = connection;
    this.#logFile = logFile;
  }

  /** Makes an empty cluster on `disk`, starts it, and makes the database of the run. */
  static async create({ disk, logFile }: { disk: string; logFile: string }): Promise<ChaosPostgres> {
    const log = createLog({ level: 'error' });
    const user = await findRunUser();
    const directory = join(disk, 'postgres');
    mkdirSync(directory, { mode: 0o700 });
    await giveTo(directory, user);
    const binaries = await prepareBinaries(await findPackage(undefined), { directory, user, log });
    const cluster = describeCluster({ directory, binaries, user, log, settings });
    await ensureCluster(cluster);
    const address = await chooseAddress(directory, undefined);
    await writeSettings(cluster, address);
    const connection = await maintenanceConnection(cluster, address);
    const postgres = new ChaosPostgres(cluster, { ...connection, database: 'chaos' }, logFile);
    try {
      await postgres.start();
      await postgres.query('create database chaos', 'postgres');
      return postgres;
    } catch (error) {
      await postgres.end();
      throw error;
    }
  }

  get url(): string {
    return databaseUrl(this.#connection);
  }

  /** One statement, or several without parameters, on a connection of its own. */
  async query(sql: string, database = this.#connection.database): Promise<Rows> {
    const client = new pg.Client({
      ...this.#connection,
      database,
      application_name: 'chaos',
      connectionTimeoutMillis: 5_000,
      query_timeout: 60_000,
    });
    client.on('error', () => {});
    try {
      await client.connect();
      return (await client.query(sql)).rows as Rows;
    } finally {
      await client.end().catch(() => {});
    }
  }

  /** Starts it unless it runs, and resolves when it answers. */
  async start(): Promise<void> {
    const giveUpAt = performance.now() + 90_000;
    for (;;) {
      if (this.#isOver) throw new Error('this PostgreSQL has been stopped for good');
      if (!this.#isRunning()) this.#spawn();
      if (await this.#answers()) return;
      if (performance.now() > giveUpAt)
        throw new Error(`PostgreSQL does not start; its log is ${this.#logFile}`);
      if (!this.#isRunning()) {
        this.failedStarts += 1;
        await wait(300);
      } else {
        await wait(50);
      }
    }
  }

  /** SIGKILL of the postmaster. Its children notice and end by themselves. */
  async kill(): Promise<void> {
    signal(this.#postmaster?.pid, 'SIGKILL');
    await this.#gone;
  }

  /** `fast` ends connections and writes everything down; `immediate` leaves that to the next start. */
  async stop(mode: 'fast' | 'immediate'): Promise<void> {
    this.resume();
    signal(this.#postmaster?.pid, mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    const late = setTimeout(() => signal(this.#postmaster?.pid, 'SIGKILL'), 30_000);
    await this.#gone;
    clearTimeout(late);
  }

  /** Stops it for good: a fault that is still on its way does not start it again. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.stop('immediate');
  }

  /** SIGSTOP of the postmaster first, so that no child is born beside, then of every child. */
  pause(): void {
    const postmaster = this.#postmaster?.pid;
    if (postmaster === undefined) return;
    signal(postmaster, 'SIGSTOP');
    this.#paused = [postmaster, ...childrenOf(postmaster)];
    for (const pid of this.#paused) signal(pid, 'SIGSTOP');
  }

  resume(): void {
    for (const pid of this.#paused.splice(0).reverse()) signal(pid, 'SIGCONT');
  }

  #isRunning(): boolean {
    return this.#postmaster?.exitCode === null && this.#postmaster.signalCode === null;
  }

  #spawn(): void {
    const { binaries, data, directory, user } = this.#cluster;
    const output = openSync(this.#logFile, 'a');
    const postmaster = spawn(join(binaries.native, 'bin', 'postgres'), ['-D', data], {
      cwd: directory,
      env: { LD_LIBRARY_PATH: binaries.libraryPath, LC_ALL: 'C', TZ: 'UTC' },
      stdio: ['ignore', output, output],
      // Ctrl-C goes to a terminal's whole group; PostgreSQL is stopped when everything else has ended.
      detached: true,
      ...(user.switched ? { uid: user.uid, gid: user.gid } : {}),
    });
    this.#postmaster = postmaster;
    this.#gone = new Promise((resolve) => {
      postmaster.once('exit', () => resolve());
      postmaster.once('error', () => resolve());
    });
    closeSync(output);
  }

  async #answers(): Promise<boolean> {
    return this.query('select 1', 'postgres').then(
      () => true,
      () => false,
    );
  }
}
