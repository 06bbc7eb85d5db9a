import { type ChildProcess, execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, readlink, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import type { AppError } from '../../src/core/errors.ts';
import {
  type EmbeddedConnection,
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from '../../src/platform/embedded-postgres/index.ts';
import { inspectPostmaster } from '../../src/platform/embedded-postgres/postmaster.ts';
import { findRunUser } from '../../src/platform/embedded-postgres/run-user.ts';
import { createLog } from '../../src/platform/log.ts';
import type { HolderReport } from './embedded-holder.ts';

export const isRoot = process.getuid?.() === 0;
const cleanups: (() => Promise<unknown>)[] = [];

/** For afterEach: ends everything that a test began, the last first. */
export async function cleanUp(): Promise<void> {
  for (const work of cleanups.splice(0).reverse()) await work();
}

export function afterwards(work: () => Promise<unknown>): void {
  cleanups.push(work);
}

/** `mode` 0700 is what mkdtemp makes; as root that hides it from the user whom PostgreSQL runs as. */
export async function temporaryDirectory({ mode = 0o755 } = {}): Promise<string> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'posthorn-epg-')));
  await chmod(path, mode);
  afterwards(async () => {
    await endPostmasterOf(join(path, 'postgres'));
    const elsewhere = await readlink(join(path, 'postgres')).catch(() => undefined);
    if (elsewhere?.startsWith('/var/lib/posthorn/')) await rm(elsewhere, { recursive: true, force: true });
    await rm(path, { recursive: true, force: true });
  });
  return path;
}

// What a killed holder or a failed test left running.
async function endPostmasterOf(directory: string): Promise<void> {
  const postmaster = await inspectPostmaster({
    data: join(directory, 'data'),
    user: await findRunUser(),
  }).catch(() => undefined);
  if (postmaster?.state !== 'living') return;
  process.kill(postmaster.pid, 'SIGQUIT');
  await waitFor('the postmaster to end', async () => !(await isRunning(directory)));
}

export type LogLine = { event: string; level: string; msg: string } & Record<string, unknown>;
export type Started = EmbeddedPostgres & { lines: LogLine[]; lost: AppError[] };

/** What a test's database does while it starts and runs, even where the start fails. */
export function listen(): Pick<EmbeddedPostgresOptions, 'log' | 'onLost'> & {
  lines: LogLine[];
  lost: AppError[];
} {
  const lines: LogLine[] = [];
  const lost: AppError[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  return {
    log: createLog({ level: 'debug', destination }),
    onLost: (error) => void lost.push(error),
    lines,
    lost,
  };
}

export async function start(
  dataDir: string,
  options: Partial<EmbeddedPostgresOptions> = {},
): Promise<Started> {
  const ears = listen();
  const { log, onLost, lines, lost } = ears;
  const postgres = await startEmbeddedPostgres({ dataDir, log, onLost, ...options });
  afterwards(() => postgres.stop());
  return { ...postgres, lines, lost };
}

/** The AppError that a start ends with. */
export async function refusal(
  dataDir: string,
  options: Partial<EmbeddedPostgresOptions> = {},
): Promise<AppError> {
  const started = await start(dataDir, options).catch((error: AppError) => error);
  if (started instanceof Error) return started;
  throw new Error('the start was expected to be refused');
}

export async function query(connection: EmbeddedConnection, sql: string): Promise<Record<string, unknown>[]> {
  const client = await connect(connection);
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

export async function connect(connection: EmbeddedConnection): Promise<pg.Client> {
  const client = new pg.Client({ ...connection, connectionTimeoutMillis: 5_000 });
  client.on('error', () => {});
  await client.connect();
  return client;
}

export async function waitFor<T>(
  what: string,
  ask: () => Promise<T> | T,
  timeoutMs = 10_000,
): Promise<NonNullable<T>> {
  const giveUpAt = performance.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (answer) return answer as NonNullable<T>;
    if (performance.now() > giveUpAt) throw new Error(`waited ${timeoutMs} ms for ${what}`);
    await sleep(20);
  }
}

export async function postmasterPid(directory: string): Promise<number> {
  const text = await readFile(join(directory, 'data', 'postmaster.pid'), 'utf8');
  return Number.parseInt(text, 10);
}

export async function isRunning(directory: string): Promise<boolean> {
  const { state } = await inspectPostmaster({ data: join(directory, 'data'), user: await findRunUser() });
  return state === 'living' || state === 'unknown';
}

/** What the user whom PostgreSQL runs as sees of a process; root in a container may not look at it. */
export async function peek(program: 'cat' | 'readlink', ...paths: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, paths, { cwd: '/', ...(await asRunUser()) });
  return stdout;
}

export async function asRunUser(): Promise<{ uid?: number; gid?: number }> {
  const { uid, gid, switched } = await findRunUser();
  return switched ? { uid, gid } : {};
}

/** A serving process of its own. Its postmaster outlives it, as it would outlive a crash. */
export function holder(dataDir: string): ChildProcess {
  const script = fileURLToPath(new URL('./embedded-holder.ts', import.meta.url));
  const child = fork(script, [dataDir], {
    execArgv: ['--import', 'tsx'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  afterwards(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  return child;
}

export async function reportOf(child: ChildProcess): Promise<HolderReport> {
  const [report] = await once(child, 'message');
  return report as HolderReport;
}

export async function kill(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}
