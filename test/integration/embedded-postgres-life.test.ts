import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { findEmbeddedPostgres } from '../../src/platform/embedded-postgres/index.ts';
import { findRunUser } from '../../src/platform/embedded-postgres/run-user.ts';
import {
  afterwards,
  asRunUser,
  cleanUp,
  connect,
  holder,
  isRoot,
  isRunning,
  kill,
  postmasterPid,
  query,
  refusal,
  reportOf,
  start,
  temporaryDirectory,
  waitFor,
} from '../support/embedded-support.ts';

const onLinux = process.platform === 'linux';
afterEach(cleanUp, 30_000);

describe('one serving process a data directory', () => {
  it('[EPG-9] takes over a living postmaster whose owner was killed, and is refused where the owner lives', async () => {
    const dataDir = await temporaryDirectory();
    const owner = holder(dataDir);
    expect(await reportOf(owner)).toMatchObject({ state: 'serving' });
    const error = await refusal(dataDir);
    expect([error.code, error.exitCode]).toEqual(['DATA_DIR_IN_USE', 2]);
    expect(error.message).toContain(`process ${owner.pid}`);
    const pid = await postmasterPid(join(dataDir, 'postgres'));
    await kill(owner);
    const { connection, directory, lines, stop } = await start(dataDir);
    expect(await postmasterPid(directory)).toBe(pid);
    expect(lines.map(({ event }) => event)).toContain('postgres.taken_over');
    expect(await findEmbeddedPostgres(dataDir)).toEqual(connection);
    await stop();
    await stop();
    expect([await isRunning(directory), await findEmbeddedPostgres(dataDir)]).toEqual([false, undefined]);
  });

  it('[EPG-10] lets exactly one of two win that start at once in an empty directory', async () => {
    const dataDir = await temporaryDirectory();
    const reports = await Promise.all([holder(dataDir), holder(dataDir)].map(reportOf));
    const states = reports.map((report) => (report.state === 'refused' ? report.code : report.state));
    expect(states.sort()).toEqual(['DATA_DIR_IN_USE', 'serving']);
    const connection = await waitFor('the port file', () => findEmbeddedPostgres(dataDir));
    expect(await query(connection, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect((await readdir(join(dataDir, 'postgres'))).filter((name) => name.includes('.new-'))).toEqual([]);
  });

  it('[EPG-11] finds no database where none was, where it is stopped, and where the port file is damaged', async () => {
    const dataDir = await temporaryDirectory();
    expect(await findEmbeddedPostgres(join(dataDir, 'absent'))).toBeUndefined();
    expect(await findEmbeddedPostgres(dataDir)).toBeUndefined();
    await mkdir(join(dataDir, 'postgres'));
    await writeFile(join(dataDir, 'postgres', 'connection.json'), '{"host":');
    expect(await findEmbeddedPostgres(dataDir)).toBeUndefined();
    const connection = { host: '127.0.0.1', port: 1, user: 'u', password: 'p', database: 'd' };
    await writeFile(join(dataDir, 'postgres', 'connection.json'), JSON.stringify(connection));
    expect(await findEmbeddedPostgres(dataDir)).toBeUndefined();
  });
});

describe('a postmaster.pid in the way', () => {
  it('[EPG-12] waits out the children of a killed postmaster, which still use its data', async () => {
    const dataDir = await temporaryDirectory();
    const child = holder(dataDir);
    await reportOf(child);
    const connection = await waitFor('the port file', () => findEmbeddedPostgres(dataDir));
    const client = await connect(connection);
    afterwards(() => client.end());
    // It computes, so that it notices the death of its postmaster only when it is done.
    const busy = client.query('select count(*) from generate_series(1, 12000000)').catch(() => 'cut off');
    const directory = join(dataDir, 'postgres');
    await kill(child);
    process.kill(await postmasterPid(directory), 'SIGKILL');
    const started = await start(dataDir);
    expect(await readFile(join(directory, 'postgres.log'), 'utf8')).toMatch(
      /pre-existing shared memory block|lock file .* already exists/,
    );
    expect(await query(started.connection, 'select 1 as one')).toEqual([{ one: 1 }]);
    await busy;
  });

  it.skipIf(!onLinux)(
    '[EPG-13] removes one whose process is a zombie or provably something else',
    async () => {
      const dataDir = await temporaryDirectory();
      const first = await start(dataDir);
      const [pidFile, lockFile] = await copiesOfPidFiles(first.directory);
      await first.stop();
      for (const [state, pid] of [
        ['foreign', await stranger('/')],
        ['zombie', await zombie()],
      ] as const) {
        await pidFile?.(pid);
        await lockFile?.(pid);
        const { lines, stop, connection } = await start(dataDir, { startPatienceMs: 3_000 });
        expect(lines).toContainEqual(expect.objectContaining({ event: 'postgres.pid_file_removed', state }));
        expect(await query(connection, 'select 1 as one')).toEqual([{ one: 1 }]);
        await stop();
      }
    },
  );

  it.skipIf(!onLinux)(
    '[EPG-14] keeps one whose process sits in the directory, waits, and explains',
    async () => {
      const dataDir = await temporaryDirectory();
      const first = await start(dataDir);
      const [pidFile] = await copiesOfPidFiles(first.directory);
      await first.stop();
      const pid = await stranger(join(first.directory, 'data'));
      await pidFile?.(pid);
      const since = performance.now();
      const error = await refusal(dataDir, { startPatienceMs: 1_000 });
      expect(performance.now() - since).toBeGreaterThan(1_000);
      expect(error.code).toBe('EMBEDDED_POSTGRES_FAILED');
      expect(error.message).toMatch(new RegExp(`postmaster.pid names process ${pid},.*remove`));
      expect(await postmasterPid(first.directory)).toBe(pid);
    },
  );
});

describe('while it runs', () => {
  const restartBackoffMs = { first: 150, most: 1_000 };
  // What the supervisor's session is asked for, by another session.
  const lock = '1886352244, 1752134254';

  it('[EPG-15] starts a postmaster again that died, with a doubling wait, at the same address and with all data', async () => {
    const { connection, directory, lines, lost } = await start(await temporaryDirectory(), {
      restartBackoffMs,
    });
    await query(connection, 'create table kept as select 7 as n');
    let backSince = performance.now();
    for (const deaths of [1, 2, 3]) {
      // Before the third it stays up longer than the longest wait, which makes the wait short again.
      if (deaths === 3) await waitFor('a second', () => performance.now() - backSince > 1_100);
      const pid = await postmasterPid(directory);
      const killedAt = performance.now();
      process.kill(pid, 'SIGKILL');
      const back = () => lines.filter(({ event }) => event === 'postgres.restarted').length === deaths;
      await waitFor('the restart', back);
      backSince = performance.now();
      expect(backSince - killedAt).toBeGreaterThan(150);
      expect(await query(connection, 'select n from kept')).toEqual([{ n: 7 }]);
      expect(await postmasterPid(directory)).not.toBe(pid);
    }
    const waits = lines.filter(({ event }) => event === 'postgres.restart_delayed');
    expect(waits.map(({ delayMs }) => delayMs)).toEqual([150, 300, 150]);
    expect([lines.filter(({ event }) => event === 'postgres.died').length, lost]).toEqual([3, []]);
  });

  it('[EPG-16] takes a lock again whose connection broke, from a living postmaster', async () => {
    const { connection, directory, lines, lost } = await start(await temporaryDirectory());
    const pid = await postmasterPid(directory);
    const maintenance = { ...connection, database: 'postgres' };
    await query(maintenance, endSessions);
    await waitFor('the lock', () => lines.find(({ event }) => event === 'postgres.lock_retaken'));
    expect(await query(maintenance, `select pg_try_advisory_lock(${lock}) as free`)).toEqual([
      { free: false },
    ]);
    expect([await postmasterPid(directory), lost]).toEqual([pid, []]);
  });

  it('[EPG-17] says once that it lost the database to whoever took the lock, and leaves that one its postmaster', async () => {
    const postgres = await start(await temporaryDirectory());
    const maintenance = { ...postgres.connection, database: 'postgres' };
    const other = await connect(maintenance);
    afterwards(() => other.end());
    // It waits in the queue for the lock, so that it has it before the owner is back.
    const taken = other.query(`select pg_advisory_lock(${lock})`);
    await waitFor('the queue', async () => (await query(maintenance, waiters)).length);
    await query(maintenance, endSessions);
    await taken;
    await waitFor('the loss', () => postgres.lost.length);
    await postgres.stop();
    expect(postgres.lost.map(({ code }) => code)).toEqual(['DATA_DIR_IN_USE']);
    expect((await other.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });

  it('[EPG-18] stops for good in the middle of mending: no wait is sat out and nothing is started any more', async () => {
    const dataDir = await temporaryDirectory();
    const first = await start(dataDir, { restartBackoffMs: { first: 60_000, most: 60_000 } });
    process.kill(await postmasterPid(first.directory), 'SIGKILL');
    await waitFor('the death', () => first.lines.find(({ event }) => event === 'postgres.died'));
    await first.stop();
    expect(await isRunning(first.directory)).toBe(false);
    const second = await start(dataDir, { restartBackoffMs: { first: 1, most: 1 } });
    process.kill(await postmasterPid(second.directory), 'SIGKILL');
    // The new postmaster is on its way up in this moment.
    await waitFor('the restart', () => isRunning(second.directory));
    await second.stop();
    expect([await isRunning(second.directory), second.lost]).toEqual([false, []]);
  });

  it('[EPG-19] gives up, saying so, when the data is gone', async () => {
    const { directory, lost, stop } = await start(await temporaryDirectory(), { restartBackoffMs });
    process.kill(await postmasterPid(directory), 'SIGKILL');
    await rename(join(directory, 'data'), join(directory, 'moved'));
    await waitFor('the loss', () => lost.length);
    expect(lost.map(({ code }) => code)).toEqual(['DATA_DIR_UNUSABLE']);
    await stop();
  });
});

// The session that holds the lock is the only other one in the database `postgres`.
const endSessions = `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'posthorn-%'`;
const waiters = `select from pg_locks where locktype = 'advisory' and not granted`;

/** Writers of the two files with the postmaster's number, for any number, with its owner and all the rest unchanged. */
async function copiesOfPidFiles(directory: string): Promise<((pid: number) => Promise<void>)[]> {
  const { uid, gid } = await findRunUser();
  const paths = [join(directory, 'data', 'postmaster.pid'), join(directory, '.s.PGSQL.5432.lock')];
  return Promise.all(
    paths.map(async (path) => {
      const rest = (await readFile(path, 'utf8')).replace(/^\d+/, '');
      return async (pid: number) => {
        await writeFile(path, pid + rest, { mode: 0o600 });
        if (isRoot) await chown(path, uid, gid);
      };
    }),
  );
}

/** A process of the run user that is no PostgreSQL. */
async function stranger(cwd: string): Promise<number> {
  const child = spawn('/bin/sleep', ['60'], { cwd, stdio: 'ignore', ...(await asRunUser()) });
  await once(child, 'spawn');
  afterwards(async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  return child.pid ?? 0;
}

/** A process of the run user that ends after its parent has become a program that never asks for its end. */
async function zombie(): Promise<number> {
  const child = spawn('/bin/sh', ['-c', '/bin/sleep 0.2 & echo $!; exec /bin/sleep 60'], {
    cwd: '/',
    stdio: ['ignore', 'pipe', 'ignore'],
    ...(await asRunUser()),
  });
  afterwards(async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data');
  const pid = Number.parseInt(line, 10);
  await waitFor('the zombie', async () => (await readFile(`/proc/${pid}/stat`, 'utf8')).includes(') Z '));
  return pid;
}
