import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, readlink, realpath, rmdir, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../core/errors.ts';
import { makeFolder, makingInDataDir } from '../data-dir.ts';
import type { Log } from '../log.ts';
import { dataIn } from './cluster.ts';
import { giveTo, hasCode } from './private-file.ts';
import { canReach, type RunUser } from './run-user.ts';

const systemPlace = '/var/lib/posthorn';

/**
 * The folder of the cluster, made if absent: <dataDir>/postgres. Where the run user cannot get there (root's home is
 * 0700) it is /var/lib/posthorn/<hash> and <dataDir>/postgres a link to it: the link is the memory, so that the
 * choice is made once and a cluster that exists is never passed over for a new, empty one.
 */
export async function preparePlace(
  dataDir: string,
  { user, log }: { user: RunUser; log: Log },
): Promise<string> {
  makingInDataDir(dataDir, () => makeFolder(dataDir, user.switched ? 0o755 : 0o700));
  const home = await realpath(dataDir);
  const name = join(home, 'postgres');
  const former = await readlink(name).catch(() => undefined);
  if (!former && !(await exists(dataIn(name))) && !(await canReach(home, user)))
    await linkElsewhere(home, name, user);
  const directory = (await readlink(name).catch(() => undefined)) ?? name;
  makingInDataDir(dataDir, () => makeFolder(directory, 0o700));
  const real = await realpath(directory);
  await checkOwner(real, user);
  await checkReach(real, user);
  if (real !== name) {
    const why = `The database of ${home} lives in ${real}, where the user ${user.name} can reach it.`;
    log.info({ event: 'postgres.place_chosen', directory: real }, why);
  }
  return real;
}

async function linkElsewhere(home: string, name: string, user: RunUser): Promise<void> {
  const hash = createHash('sha256').update(home).digest('hex').slice(0, 16);
  const elsewhere = join(await systemDirectory(user), hash);
  await rmdir(name).catch((error) => {
    if (!hasCode(error, 'ENOENT')) throw error;
  });
  await symlink(elsewhere, name).catch((error) => {
    // Another process that starts in this moment chose the same.
    if (!hasCode(error, 'EEXIST')) throw error;
  });
}

/** /var/lib/posthorn, for what the run user must reach: never the temporary folder, which is swept and shared. */
export async function systemDirectory(user: RunUser): Promise<string> {
  const created = await mkdir(systemPlace, { recursive: true });
  if (created) await chmod(systemPlace, 0o755);
  if (await canReach(await realpath(systemPlace), user)) return systemPlace;
  throw new AppError(
    'DATA_DIR_UNUSABLE',
    `The user ${user.name}, whom PostgreSQL runs as, can reach neither the data directory nor ${systemPlace}: ` +
      `\`chmod o+x ${systemPlace}\`, choose a data directory that it can reach, or set DATABASE_URL.`,
  );
}

/** PostgreSQL works only in a folder of the user that it runs as. Ours without a cluster in it changes hands freely. */
async function checkOwner(directory: string, user: RunUser): Promise<void> {
  const hasData = await exists(dataIn(directory));
  if (!hasData) await giveTo(directory, user);
  for (const path of hasData ? [directory, dataIn(directory)] : [directory]) {
    const { uid } = await stat(path);
    if (uid === user.uid) continue;
    const asWhom = user.switched
      ? `the user ${user.name} (root may not run it)`
      : `you (user id ${user.uid})`;
    throw new AppError(
      'DATA_DIR_UNUSABLE',
      `${path} belongs to user id ${uid}, but PostgreSQL would run as ${asWhom}: ` +
        `start Posthorn as it was started before, or give it away with \`chown -R ${user.uid}:${user.gid} ${directory}\`.`,
    );
  }
}

async function checkReach(directory: string, user: RunUser): Promise<void> {
  if (await canReach(directory, user)) return;
  throw new AppError(
    'DATA_DIR_UNUSABLE',
    `The user ${user.name}, whom PostgreSQL runs as, cannot reach ${directory}: ` +
      'let others pass through the folders above it (`chmod o+x`), or move the data directory, with all that is in it.',
  );
}

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    // A folder that nobody but its owner may look into: checkOwner says whose it is.
    if (hasCode(error, 'ENOENT', 'EACCES')) return false;
    throw error;
  }
}
