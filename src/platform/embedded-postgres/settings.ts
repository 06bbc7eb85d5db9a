import { createServer } from 'node:net';
import { join } from 'node:path';
import { AppError } from '../../core/errors.ts';
import type { Cluster } from './cluster.ts';
import { writePrivateFile } from './private-file.ts';

/** Where a postmaster listens: `host` is a folder (its Unix socket) or 127.0.0.1. */
export type Address = { host: string; port: number };

const loopback = '127.0.0.1';
const socketPort = 5432;
// sun_path holds 104 bytes on macOS and 108 on Linux, with the closing zero; PostgreSQL itself warns later than that.
const longestSocketPath = 100;

export function isSocketPathShort(directory: string): boolean {
  return Buffer.byteLength(join(directory, `.s.PGSQL.${socketPort}`)) <= longestSocketPath;
}

/** A socket in the cluster's own folder needs no free port and no network; a long path leaves only loopback. */
export async function chooseAddress(directory: string, former: Address | undefined): Promise<Address> {
  if (isSocketPathShort(directory)) return { host: directory, port: socketPort };
  if (former?.host === loopback && (await isPortFree(former.port))) return former;
  return { host: loopback, port: await findFreePort() };
}

/** Written before each start, so that a newer Posthorn's values reach an older cluster. */
export async function writeSettings(cluster: Cluster, address: Address): Promise<void> {
  const settings = { ...baseSettings(address), ...cluster.settings };
  const lines = Object.entries(settings).map(([name, value]) => `${checkedName(name)} = ${quoted(value)}\n`);
  const text = `# Written by Posthorn at each start; changes here are lost.\n${lines.join('')}`;
  await writePrivateFile(join(cluster.data, 'posthorn.conf'), text, cluster.user);
}

function baseSettings({ host, port }: Address): Record<string, string> {
  return {
    listen_addresses: host === loopback ? loopback : '',
    unix_socket_directories: host === loopback ? '' : host,
    unix_socket_permissions: '0700',
    port: String(port),
    max_connections: '100',
    shared_buffers: '256MB',
    max_wal_size: '4GB',
    checkpoint_timeout: '15min',
    fsync: 'on',
    full_page_writes: 'on',
    synchronous_commit: 'on',
    // /dev/shm is 64 MB in a container by default, and absent in some.
    dynamic_shared_memory_type: 'mmap',
    password_encryption: 'scram-sha-256',
    logging_collector: 'off',
    log_destination: 'stderr',
    log_line_prefix: '%m [%p] ',
    // Starts, stops, crashes. A statement that fails is told to its caller, and is no reason for the file to grow.
    log_min_messages: 'log',
    log_checkpoints: 'off',
    log_timezone: 'UTC',
    timezone: 'UTC',
    lc_messages: 'C',
  };
}

function checkedName(name: string): string {
  if (/^[a-z_][a-z0-9_.]*$/i.test(name)) return name;
  throw new AppError(
    'CONFIG_INVALID',
    `"${name}" is not the name of a PostgreSQL setting: correct or remove it.`,
  );
}

function quoted(value: string): string {
  if (/[\r\n\0]/.test(value)) {
    throw new AppError(
      'CONFIG_INVALID',
      'The value of a PostgreSQL setting has a line break in it: remove it.',
    );
  }
  return `'${value.replaceAll("'", "''").replaceAll('\\', '\\\\')}'`;
}

async function findFreePort(): Promise<number> {
  const port = await listenOnce(0);
  if (port !== undefined) return port;
  throw new AppError(
    'EMBEDDED_POSTGRES_FAILED',
    'No port of 127.0.0.1 is free for PostgreSQL: close some programs.',
  );
}

async function isPortFree(port: number): Promise<boolean> {
  return (await listenOnce(port)) !== undefined;
}

function listenOnce(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ host: loopback, port, exclusive: true }, () => {
      const bound = server.address();
      server.close(() => resolve(typeof bound === 'object' ? bound?.port : undefined));
    });
  });
}
