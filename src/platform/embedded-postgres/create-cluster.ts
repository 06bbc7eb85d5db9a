import { randomBytes } from 'node:crypto';
import { appendFile, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../core/errors.ts';
import { type Cluster, passwordFileIn } from './cluster.ts';
import { superuser } from './connection-file.ts';
import { explainFailure } from './explain.ts';
import { giveTo, hasCode, readIfPresent, syncDirectory, writePrivateFile } from './private-file.ts';
import { isAlive } from './process-table.ts';
import { runProgram } from './program.ts';

/** Sees to it that there is a whole cluster of our major version, and makes one in an empty folder. */
export async function ensureCluster(cluster: Cluster): Promise<void> {
  await removeLeftovers(cluster.directory);
  if (!(await isWhole(cluster))) await createCluster(cluster);
  await checkMajor(cluster);
}

/** What processes left that died while initdb was at work, under the name of their process. */
async function removeLeftovers(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const pid = Number(/^(?:data|password)\.new-(\d+)/.exec(name)?.[1]);
    // Our own number is a leftover too: in a container each life has the same one.
    if (!pid || (pid !== process.pid && isAlive(pid))) continue;
    // The programs that a killed initdb started may still be writing into it for a moment.
    await rm(join(directory, name), { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

async function isWhole({ data }: Cluster): Promise<boolean> {
  if ((await readIfPresent(join(data, 'PG_VERSION'))) !== undefined) return true;
  const entries = await readdir(data).catch((error) => {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  });
  if (!entries?.length) return false;
  throw new AppError(
    'DATA_DIR_UNUSABLE',
    `${data} is not a PostgreSQL database (it has no file PG_VERSION): move it away, or choose another data directory.`,
  );
}

/**
 * A killed initdb leaves a folder that looks like a cluster, so initdb works beside and a rename makes the cluster
 * appear when it is whole. Of two processes that do so at once the second rename fails, and its cluster is dropped.
 */
async function createCluster(cluster: Cluster): Promise<void> {
  const unfinished = `${cluster.data}.new-${process.pid}`;
  const passwordFile = join(cluster.directory, `password.new-${process.pid}`);
  try {
    await mkdir(unfinished, { mode: 0o700 });
    await giveTo(unfinished, cluster.user);
    await writePrivateFile(passwordFile, `${randomBytes(24).toString('base64url')}\n`, cluster.user);
    await initdb(cluster, unfinished, passwordFile);
    await rename(passwordFile, passwordFileIn(unfinished));
    await appendFile(join(unfinished, 'postgresql.conf'), "\ninclude 'posthorn.conf'\n");
    await rename(unfinished, cluster.data);
    await syncDirectory(cluster.directory);
    cluster.log.info(
      { event: 'postgres.created', directory: cluster.data },
      'a new, empty database was made',
    );
  } catch (error) {
    if (!hasCode(error, 'ENOTEMPTY', 'EEXIST') || !(await isWhole(cluster))) throw error;
  } finally {
    await rm(passwordFile, { force: true });
    await rm(unfinished, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

async function initdb(cluster: Cluster, data: string, passwordFile: string): Promise<void> {
  const { code, output } = await runProgram(cluster, 'initdb', {
    args: [
      `--pgdata=${data}`,
      `--username=${superuser}`,
      '--auth=scram-sha-256',
      `--pwfile=${passwordFile}`,
      '--encoding=UTF8',
      '--locale=C',
      '--no-instructions',
    ],
  });
  if (code !== 0) throw explainFailure(output, { directory: cluster.directory });
}

async function checkMajor({ data, binaries }: Cluster): Promise<void> {
  const major = Number((await readFile(join(data, 'PG_VERSION'), 'utf8')).trim());
  if (major === binaries.major) return;
  throw new AppError(
    'DATA_DIR_UNUSABLE',
    `${data} was made by PostgreSQL ${major}, and PostgreSQL ${binaries.major} is installed, which cannot read it: ` +
      `install the Posthorn that came with ${major}, or copy the data into a new directory with pg_dump and pg_restore.`,
  );
}
