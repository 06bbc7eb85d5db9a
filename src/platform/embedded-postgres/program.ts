import { type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Cluster } from './cluster.ts';

export type Ended = { code: number | null; output: string };

/**
 * Runs initdb or pg_ctl as the run user with an environment of four names: no setting of the person who started
 * Posthorn (PGDATA, PGPORT, LC_ALL ...) reaches the database.
 * `outputTo`: an open file for both outputs, and a session of its own. A postmaster must inherit no pipe, or
 * whoever reads our output waits for it to die; and Ctrl-C goes to a terminal's whole group, which must not hold it.
 * An abort sends SIGINT, which `pg_ctl start -w` hands on to the postmaster that it is waiting for.
 */
export async function runProgram(
  cluster: Cluster,
  name: 'initdb' | 'pg_ctl',
  options: { args: string[]; outputTo?: number; signal?: AbortSignal | undefined },
): Promise<Ended> {
  const { outputTo, signal } = options;
  const child = spawn(join(cluster.binaries.native, 'bin', name), options.args, {
    cwd: cluster.directory,
    env: smallEnvironment(cluster.binaries.libraryPath),
    stdio: outputTo === undefined ? ['ignore', 'pipe', 'pipe'] : ['ignore', outputTo, outputTo],
    detached: outputTo !== undefined,
    ...identity(cluster),
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-20_000);
    });
  }
  const interrupt = () => child.kill('SIGINT');
  signal?.addEventListener('abort', interrupt);
  try {
    if (signal?.aborted) interrupt();
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, output };
  } finally {
    signal?.removeEventListener('abort', interrupt);
  }
}

function smallEnvironment(libraryPath: string): Record<string, string> {
  const library = process.platform === 'darwin' ? 'DYLD_LIBRARY_PATH' : 'LD_LIBRARY_PATH';
  return { [library]: libraryPath, LC_ALL: 'C', PATH: '/usr/local/bin:/usr/bin:/bin', TZ: 'UTC' };
}

// Node drops the supplementary groups of root together with its uid.
function identity({ user }: Cluster): Pick<SpawnOptions, 'uid' | 'gid'> {
  return user.switched ? { uid: user.uid, gid: user.gid } : {};
}
