import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestDatabase } from './database.ts';
import { freePort } from './free-port.ts';

/** Debian's pgbouncer stands outside of an ordinary user's PATH. */
const program = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', 'pgbouncer'].find(
  (path) => spawnSync(path, ['--version']).status === 0,
);

export const hasPgbouncer = program !== undefined;

/** A pgbouncer in transaction mode in front of a test database, with few server connections, so that they are shared. */
export async function startPgbouncer({
  address,
}: TestDatabase): Promise<{ url: string; stop(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-pgbouncer-'));
  chmodSync(folder, 0o755);
  const port = await freePort();
  const { host, port: serverPort, user, password, database } = address;
  writeFileSync(join(folder, 'users.txt'), `"${user}" "${password}"\n`);
  writeFileSync(
    join(folder, 'pgbouncer.ini'),
    `[databases]
${database} = host=${host} port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = ${join(folder, 'users.txt')}
pool_mode = transaction
default_pool_size = 4
max_client_conn = 200
`,
  );
  // It refuses to run as root, and PostgreSQL's socket is for its own user.
  const { uid, gid } = statSync(host);
  const bouncer = spawn(program as string, [join(folder, 'pgbouncer.ini')], {
    stdio: ['ignore', 'ignore', 'pipe'],
    ...(process.getuid?.() === 0 ? { uid, gid } : {}),
  });
  await listening(bouncer);
  return {
    url: `postgres://${user}:${password}@127.0.0.1:${port}/${database}`,
    stop: async () => {
      const gone = new Promise((resolve) => bouncer.once('exit', resolve));
      if (bouncer.exitCode === null) bouncer.kill('SIGTERM');
      await gone;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function listening(bouncer: ChildProcess): Promise<void> {
  let said = '';
  return new Promise((resolve, reject) => {
    bouncer.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      if (said.includes('process up')) resolve();
    });
    bouncer.once('exit', () => reject(new Error(`pgbouncer ended: ${said}`)));
  });
}
