import { stat } from 'node:fs/promises';
import { AppError } from '../../core/errors.ts';
import { type Cluster, connectionFileIn, passwordFileIn } from './cluster.ts';
import { hasCode, readIfPresent, writePrivateFile } from './private-file.ts';
import type { Address } from './settings.ts';

/** What `pg` takes. `host` is the folder of a Unix socket where it begins with a slash. */
export type EmbeddedConnection = {
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
};

// Not called posthorn: PostgreSQL's default search_path begins with a schema of the user's name, and ours is called so.
export const superuser = 'postgres';
export const ownDatabase = 'posthorn';

/** To the database `postgres`, which is always there; the lock lives in it. */
export async function maintenanceConnection(cluster: Cluster, address: Address): Promise<EmbeddedConnection> {
  const password = (await readIfPresent(passwordFileIn(cluster.data)))?.trim();
  if (password) return { ...address, user: superuser, password, database: 'postgres' };
  throw new AppError(
    'DATA_DIR_UNUSABLE',
    `${passwordFileIn(cluster.data)} is missing, and without it nobody can enter the database: ` +
      'put it back from a backup, or move the folder away to begin with an empty database.',
  );
}

/** The port file: how `events`, `migrate` and `health` find a running database. Only the lock's holder writes it. */
export async function writeConnectionFile(cluster: Cluster, connection: EmbeddedConnection): Promise<void> {
  const text = `${JSON.stringify(connection, null, 2)}\n`;
  await writePrivateFile(connectionFileIn(cluster.directory), text, cluster.user);
}

export async function readConnectionFile(directory: string): Promise<EmbeddedConnection | undefined> {
  const path = connectionFileIn(directory);
  try {
    const text = await readIfPresent(path);
    return text === undefined ? undefined : parseConnection(text);
  } catch (error) {
    if (hasCode(error, 'ENOTDIR')) return undefined;
    if (!hasCode(error, 'EACCES', 'EPERM')) throw error;
    throw new AppError(
      'DATA_DIR_UNUSABLE',
      `${path} may only be read by ${await ownerOf(directory)}: run this command as that user or as root.`,
      { cause: error },
    );
  }
}

// A file that somebody damaged says nothing: the holder of the lock writes it anew at its next start.
function parseConnection(text: string): EmbeddedConnection | undefined {
  try {
    const { host, port, user, password, database } = JSON.parse(text) as Record<string, unknown>;
    const words = [host, user, password, database];
    if (!words.every((word) => typeof word === 'string') || !Number.isInteger(port)) return undefined;
    return { host, port, user, password, database } as EmbeddedConnection;
  } catch {
    return undefined;
  }
}

async function ownerOf(directory: string): Promise<string> {
  const owner = await stat(directory).catch(() => undefined);
  return owner ? `its owner (user id ${owner.uid})` : 'its owner';
}
