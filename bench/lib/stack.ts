import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../test/support/free-port.ts';
import { childrenOf } from '../../test/support/processes.ts';
import { benchSecret } from './contender.ts';

const program = fileURLToPath(new URL('../../dist/cli/posthorn.js', import.meta.url));

/** A `posthorn serve` as it ships, in processes of its own. */
export type Stack = {
  readonly port: number;
  /** Largest resident memory of each Node process now, in MB: the server, then its worker. */
  memoryMb(): number[];
  stop(): Promise<void>;
};

export type Installation = { readonly folder: string; remove(): void };

/** A folder with a configuration of one source and a handler module of this text. */
export function install(handlers: string | undefined): Installation {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-bench-stack-'));
  chmodSync(folder, 0o755);
  writeFileSync(
    join(folder, 'posthorn.json'),
    JSON.stringify({
      sources: { github: { scheme: 'github', secretEnv: 'BENCH_SECRET' } },
      handlers: handlers === undefined ? [] : [{ name: 'app', module: './handlers.mjs' }],
    }),
  );
  if (handlers !== undefined) writeFileSync(join(folder, 'handlers.mjs'), handlers);
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Starts these roles (admin always, to ask whether it is ready) and resolves when they are ready. */
export async function startStack(
  { folder }: Installation,
  { url, roles }: { url: string; roles: readonly ('gateway' | 'worker')[] },
): Promise<Stack> {
  const [port, adminPort] = [await freePort(), await freePort()];
  const ports = ['--port', String(port), '--admin-port', String(adminPort)];
  const server = spawn(
    process.execPath,
    [program, 'serve', '--migrate', '--roles', [...roles, 'admin'].join(','), ...ports],
    {
      cwd: folder,
      env: {
        ...process.env,
        DATABASE_URL: url,
        BENCH_SECRET: benchSecret,
        POSTHORN_DATA_DIR: join(folder, 'data'),
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  await waitUntilReady(server, adminPort);
  const pids = () => [server.pid as number, ...childrenOf(server.pid as number)];
  return {
    port,
    memoryMb: () => pids().map(residentMb),
    stop: async () => {
      const gone = new Promise((resolve) => server.once('exit', resolve));
      if (server.exitCode === null) server.kill('SIGTERM');
      await gone;
    },
  };
}

async function waitUntilReady(server: ChildProcess, adminPort: number): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt++) {
    if (server.exitCode !== null) throw new Error(`the server ended with ${server.exitCode}`);
    if ((await statusOf(`http://127.0.0.1:${adminPort}/readyz`)) === 200) return;
    await wait(50);
  }
  throw new Error('the server did not become ready');
}

function statusOf(url: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    get(url, (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode));
    }).on('error', () => resolve(undefined));
  });
}

function residentMb(pid: number): number {
  try {
    const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]);
    return Math.round((pages * 4096) / 2 ** 20);
  } catch {
    return 0;
  }
}
