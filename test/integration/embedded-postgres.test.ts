import { once } from 'node:events';
import { cp, readdir, readFile, readlink, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { findPackage } from '../../src/platform/embedded-postgres/binaries.ts';
import { findEmbeddedPostgres } from '../../src/platform/embedded-postgres/index.ts';
import { chooseRunUser, findRunUser, mayEnter } from '../../src/platform/embedded-postgres/run-user.ts';
import { isSocketPathShort } from '../../src/platform/embedded-postgres/settings.ts';
import {
  afterwards,
  cleanUp,
  holder,
  isRoot,
  kill,
  peek,
  postmasterPid,
  query,
  refusal,
  start,
  temporaryDirectory,
  waitFor,
} from '../support/embedded-support.ts';

const onLinux = process.platform === 'linux';
afterEach(cleanUp, 30_000);

describe('a start', () => {
  it('[EPG-1] makes a UTF-8 database with fsync in an empty directory, and the second start takes under a second', async () => {
    const dataDir = join(await temporaryDirectory(), 'made', 'here');
    const first = await start(dataDir);
    expect(first.directory).toBe(join(dataDir, 'postgres'));
    const settings = [
      'fsync',
      'full_page_writes',
      'synchronous_commit',
      'dynamic_shared_memory_type',
      'server_encoding',
    ];
    const values = settings.map((name) => `current_setting('${name}')`).join(` || ' ' || `);
    const [row] = await query(first.connection, `select current_database() as name, ${values} as settings`);
    expect(row).toEqual({ name: 'posthorn', settings: 'on on on mmap UTF8' });
    await query(first.connection, 'create table kept (n int)');
    await first.stop();
    const since = performance.now();
    const second = await start(dataDir, { settings: { work_mem: '5MB' } });
    expect(performance.now() - since).toBeLessThan(1_000);
    expect(second.connection).toEqual(first.connection);
    expect(await query(second.connection, `select n, current_setting('work_mem') from kept`)).toEqual([]);
    expect(await query(second.connection, 'show work_mem')).toEqual([{ work_mem: '5MB' }]);
  });

  it('[EPG-2] keeps the password in 0600 files of the run user, and out of arguments, environment and logs', async () => {
    const { connection, directory, lines } = await start(await temporaryDirectory());
    const { uid } = await findRunUser();
    for (const name of ['connection.json', 'data/posthorn.password']) {
      const file = await stat(join(directory, name));
      expect([name, file.mode & 0o777, file.uid]).toEqual([name, 0o600, uid]);
    }
    expect(connection.password.length).toBeGreaterThanOrEqual(32);
    await expect(query({ ...connection, password: 'wrong' }, 'select')).rejects.toThrow('password');
    const log = await readFile(join(directory, 'postgres.log'), 'utf8');
    const conf = await readFile(join(directory, 'data', 'posthorn.conf'), 'utf8');
    const proc = `/proc/${await postmasterPid(directory)}`;
    const seen = onLinux ? await peek('cat', `${proc}/cmdline`, `${proc}/environ`) : '';
    expect(JSON.stringify(lines) + log + conf + seen).not.toContain(connection.password);
    expect(await readdir(directory)).not.toContainEqual(expect.stringContaining('.new-'));
  });

  it.skipIf(!onLinux)(
    '[EPG-3] gives the postmaster a session of its own, four environment names and no pipe of ours',
    async () => {
      const { directory } = await start(await temporaryDirectory());
      const proc = `/proc/${await postmasterPid(directory)}`;
      const session = async (path: string) => (await readFile(path, 'utf8')).split(') ')[1]?.split(' ')[3];
      expect(await session(`${proc}/stat`)).not.toBe(await session('/proc/self/stat'));
      const names = (await peek('cat', `${proc}/environ`)).split('\0').map((entry) => entry.split('=')[0]);
      const own = new Set(['LD_LIBRARY_PATH', 'LC_ALL', 'PATH', 'TZ', 'PWD', 'OLDPWD', 'SHLVL', '_', '']);
      // PG* and LC_* are PostgreSQL's own doing.
      expect(names.filter((name) => !own.has(name ?? '') && !/^(PG|LC_)/.test(name ?? ''))).toEqual([]);
      const log = join(directory, 'postgres.log');
      expect(await peek('readlink', `${proc}/fd/1`, `${proc}/fd/2`)).toBe(`${log}\n${log}\n`);
    },
  );

  it('[EPG-4] needs no links from an install script, and no programs that the run user can reach', async () => {
    const closed = await temporaryDirectory({ mode: 0o700 });
    const { native } = await findPackage(undefined);
    const version = `${(await findPackage(undefined)).major}.0.0-test-${process.pid}`;
    const copy = `/var/lib/posthorn/postgres-${version}`;
    afterwards(() => rm(copy, { recursive: true, force: true }));
    const withoutLinks = async (path: string) => !(await readlink(path).catch(() => ''));
    await cp(native, join(closed, 'native'), { recursive: true, filter: withoutLinks });
    await writeFile(join(closed, 'package.json'), JSON.stringify({ version }));
    const { connection, lines } = await start(await temporaryDirectory(), { packageDir: closed });
    expect(await query(connection, 'select 1 as one')).toEqual([{ one: 1 }]);
    const copied = lines.find(({ event }) => event === 'postgres.programs_copied');
    expect(copied?.directory).toBe(isRoot ? copy : undefined);
  });

  it('[EPG-5] drops what a killed initdb left behind, and begins anew', async () => {
    const dataDir = await temporaryDirectory();
    const child = holder(dataDir);
    const unfinished = join(dataDir, 'postgres', `data.new-${child.pid}`);
    await waitFor('initdb to be at work', () =>
      readFile(join(unfinished, 'PG_VERSION'), 'utf8').catch(() => ''),
    );
    await kill(child);
    const { connection, directory } = await start(dataDir);
    expect(await query(connection, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect((await readdir(directory)).filter((name) => name.includes('.new-'))).toEqual([]);
  });

  it('[EPG-6] listens on loopback where the path of a socket would exceed 100 bytes, at the same port as before if free', async () => {
    expect([isSocketPathShort(`/${'d'.repeat(85)}`), isSocketPathShort(`/${'d'.repeat(86)}`)]).toEqual([
      true,
      false,
    ]);
    expect(isSocketPathShort(`/${'ä'.repeat(45)}`)).toBe(false);
    const dataDir = join(await temporaryDirectory(), 'long'.repeat(20));
    const first = await start(dataDir);
    expect(first.connection.host).toBe('127.0.0.1');
    await first.stop();
    const second = await start(dataDir);
    expect(second.connection).toEqual(first.connection);
    await second.stop();
    await occupy(first.connection.port);
    const third = await start(dataDir);
    expect(third.connection.port).not.toBe(first.connection.port);
    expect(await findEmbeddedPostgres(dataDir)).toEqual(third.connection);
  });

  it('[EPG-7] chooses again when the port is taken between choosing and starting, and explains when that goes on', async () => {
    const port = String(await occupy(0));
    const settings = { listen_addresses: '127.0.0.1', port };
    const error = await refusal(await temporaryDirectory(), { settings, startPatienceMs: 1_000 });
    expect([error.code, error.message]).toEqual([
      'EMBEDDED_POSTGRES_FAILED',
      expect.stringContaining('was taken'),
    ]);
  });

  it('[EPG-8] bounds the log file: one of more than 10 MB is put aside', async () => {
    const dataDir = await temporaryDirectory();
    const { directory, stop } = await start(dataDir);
    await stop();
    await truncate(join(directory, 'postgres.log'), 10 * 1024 * 1024 + 1);
    await start(dataDir);
    expect((await stat(join(directory, 'postgres.log'))).size).toBeLessThan(10_000);
    expect((await stat(join(directory, 'postgres.log.1'))).size).toBeGreaterThan(10_000_000);
  });
});

describe('users and places', () => {
  const passwd = [
    'root:x:0:0::/:/bin/sh',
    'nobody:x:65534:65534::/:/bin/false',
    'postgres:x:101:104::/:/bin/sh',
  ];

  it('[EPG-20] runs PostgreSQL as posthorn, postgres or nobody for root, and as the user himself otherwise', async () => {
    const choose = (lines: string[], uid = 0) => chooseRunUser({ uid, gid: uid, passwd: lines.join('\n') });
    expect(choose(passwd)).toEqual({ uid: 101, gid: 104, name: 'postgres', switched: true });
    expect(choose([...passwd, 'posthorn:x:999:998::/:/bin/false']).name).toBe('posthorn');
    expect(choose(passwd.slice(0, 2)).name).toBe('nobody');
    expect(choose(passwd, 1000)).toMatchObject({ uid: 1000, switched: false });
    expect(() => choose([])).toThrow(/create one.*DATABASE_URL/);
    const { directory } = await start(await temporaryDirectory());
    expect((await stat(join(directory, 'data'))).uid).toBe((await findRunUser()).uid);
    expect((await stat(join(directory, 'data'))).uid).not.toBe(0);
  });

  it('[EPG-21] judges by the mode bits of the owner, then of the group, then of all others', () => {
    const user = chooseRunUser({ uid: 0, gid: 0, passwd: passwd.join('\n') });
    const ask = (uid: number, gid: number, mode: number) => mayEnter({ uid, gid, mode }, user);
    expect([ask(101, 0, 0o700), ask(0, 104, 0o710), ask(0, 0, 0o711)]).toEqual([true, true, true]);
    expect([ask(101, 104, 0o077), ask(0, 104, 0o701), ask(0, 0, 0o770)]).toEqual([false, false, false]);
  });

  // An ordinary user's PostgreSQL runs as himself and reaches whatever he reaches.
  it.skipIf(!isRoot)(
    '[EPG-22] keeps the database in /var/lib/posthorn where the run user cannot reach the directory',
    async () => {
      const dataDir = await temporaryDirectory({ mode: 0o700 });
      const first = await start(dataDir);
      expect(first.directory).toMatch(/^\/var\/lib\/posthorn\/[0-9a-f]{16}$/);
      expect(first.lines).toContainEqual(
        expect.objectContaining({ event: 'postgres.place_chosen', directory: first.directory }),
      );
      expect(await readlink(join(dataDir, 'postgres'))).toBe(first.directory);
      expect(await findEmbeddedPostgres(dataDir)).toEqual(first.connection);
      await query(first.connection, 'create table kept as select 7 as n');
      await first.stop();
      const second = await start(dataDir);
      expect(second.directory).toBe(first.directory);
      expect(await query(second.connection, 'select n from kept')).toEqual([{ n: 7 }]);
    },
  );
});

async function occupy(port: number): Promise<number> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  afterwards(() => new Promise((resolve) => server.close(resolve)));
  return (server.address() as { port: number }).port;
}
