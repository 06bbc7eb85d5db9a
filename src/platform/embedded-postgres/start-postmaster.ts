import { open, rename, stat } from 'node:fs/promises';
import type { Cluster } from './cluster.ts';
import { explainFailure, findObstacle, type Obstacle } from './explain.ts';
import { inspectPostmaster } from './postmaster.ts';
import { giveTo } from './private-file.ts';
import { runProgram } from './program.ts';
import { type Address, writeSettings } from './settings.ts';

const mostLogBytes = 10 * 1024 * 1024;
const stopSeconds = 60;

/** One try. An obstacle is for the caller to wait out or to go round; everything else is thrown, explained. */
export async function startPostmaster(
  cluster: Cluster,
  { address, signal }: { address: Address; signal: AbortSignal },
): Promise<'started' | Obstacle> {
  await writeSettings(cluster, address);
  await rotateLog(cluster.logFile);
  const log = await open(cluster.logFile, 'a+', 0o600);
  try {
    await giveTo(cluster.logFile, cluster.user);
    const { size } = await log.stat();
    const { code } = await runProgram(cluster, 'pg_ctl', {
      args: ['start', '-D', cluster.data, '-l', cluster.logFile, '-w', '-t', '60', '-s'],
      outputTo: log.fd,
      signal,
    });
    if (code === 0) return 'started';
    signal.throwIfAborted();
    const output = await readFrom(log, size);
    const obstacle = findObstacle(output);
    if (obstacle) return obstacle;
    // pg_ctl lost patience with a long recovery; the postmaster did not.
    if ((await inspectPostmaster(cluster)).state === 'living') return 'started';
    throw explainFailure(output, { directory: cluster.directory, logFile: cluster.logFile });
  } finally {
    await log.close();
  }
}

/** Ends connections and writes everything down; kills at last, which costs the next start a recovery and no data. */
export async function stopPostmaster(cluster: Cluster): Promise<void> {
  for (const mode of ['fast', 'immediate']) {
    const { state } = await inspectPostmaster(cluster);
    if (state !== 'living' && state !== 'unknown') return;
    const args = ['stop', '-D', cluster.data, '-m', mode, '-w', '-t', String(stopSeconds), '-s'];
    const { code, output } = await runProgram(cluster, 'pg_ctl', { args });
    if (code === 0) return;
    cluster.log.warn(
      { event: 'postgres.stop_failed', mode, output: output.trim() },
      'PostgreSQL did not stop',
    );
  }
}

async function rotateLog(path: string): Promise<void> {
  const size = (await stat(path).catch(() => undefined))?.size ?? 0;
  if (size > mostLogBytes) await rename(path, `${path}.1`);
}

async function readFrom(file: Awaited<ReturnType<typeof open>>, position: number): Promise<string> {
  const buffer = Buffer.alloc(64 * 1024);
  const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
  return buffer.toString('utf8', 0, bytesRead);
}
