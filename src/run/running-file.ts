import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../platform/data-dir.ts';
import type { Log } from '../platform/log.ts';

/** Where the serving process listens, for commands on the same machine: ports may have been chosen by the system. */
export type Running = {
  readonly pid: number;
  readonly adminUrl: string | undefined;
  readonly publicUrl: string | undefined;
};

const fileName = 'running.json';

/** A convenience: a data directory that cannot be written (with a database of one's own) is no reason to stop. */
export async function rememberRunning(dataDir: string, urls: Omit<Running, 'pid'>, log: Log): Promise<void> {
  try {
    makeFolder(dataDir);
    const draft = join(dataDir, `${fileName}.${process.pid}`);
    await writeFile(draft, JSON.stringify({ pid: process.pid, ...urls }), { mode: 0o600 });
    await rename(draft, join(dataDir, fileName));
  } catch (error) {
    log.warn(
      { event: 'running_file.failed', reason: (error as Error).message },
      `other commands cannot find this server in ${dataDir}`,
    );
  }
}

export async function forgetRunning(dataDir: string): Promise<void> {
  const running = await findRunning(dataDir);
  if (running?.pid === process.pid) await rm(join(dataDir, fileName), { force: true });
}

/** The process that serves this data directory, if it still lives. */
export async function findRunning(dataDir: string): Promise<Running | undefined> {
  try {
    const running = JSON.parse(await readFile(join(dataDir, fileName), 'utf8')) as Running;
    process.kill(running.pid, 0);
    return running;
  } catch {
    return undefined;
  }
}
