import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Where a run lives. `disk` holds the database: a tmpfs of its own that can be filled up, if one can be mounted; else
 * it is part of the ordinary temporary folder, and nothing can be filled.
 */
export type Place = { readonly folder: string; readonly disk: string; readonly isDiskOwn: boolean };

export const endSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const placeVariable = 'POSTHORN_CHAOS_PLACE';
const mount = 'mount -t tmpfs -o "size=$1m,mode=755" posthorn-chaos "$2" || exit 126; shift 2';

/** The place that was made for this process by `enterPlace`; undefined in the process that a person started. */
export function currentPlace(env: NodeJS.ProcessEnv): Place | undefined {
  const [folder, isDiskOwn] = env[placeVariable]?.split('\n') ?? [];
  return folder === undefined
    ? undefined
    : { folder, disk: join(folder, 'disk'), isDiskOwn: isDiskOwn === 'own' };
}

/**
 * Makes the place and runs this same command again in it; gives its exit code. A mount is made in a mount namespace of
 * its own, so that it is gone with the processes, however they end. An ordinary user needs a user namespace for that,
 * and a second one in it to be himself again: PostgreSQL refuses to run as root, even as one that is none outside.
 */
export async function enterPlace(diskMb: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-chaos-'));
  const disk = join(folder, 'disk');
  chmodSync(folder, 0o755);
  mkdirSync(disk, { mode: 0o755 });
  const [uid = 0, gid = 0] = [process.getuid?.(), process.getgid?.()];
  const wrap =
    uid === 0
      ? ['-m', 'sh', '-c', `${mount}; exec "$@"`]
      : ['-rm', 'sh', '-c', `${mount}; exec unshare -U --map-user=${uid} --map-group=${gid} "$@"`];
  const wrapped = [...wrap, 'sh', String(diskMb), disk];
  const isDiskOwn = spawnSync('unshare', [...wrapped, 'true'], { stdio: 'ignore' }).status === 0;
  const again = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const [program, ...args] = isDiskOwn ? ['unshare', ...wrapped, ...again] : again;
  const child = spawn(program as string, args, {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, [placeVariable]: `${folder}\n${isDiskOwn ? 'own' : 'shared'}` },
  });
  // The child cleans up, and this process waits for it. It does not mind a second signal, such as a terminal's own.
  for (const name of endSignals) process.on(name, () => child.kill(name));
  const [code] = (await once(child, 'exit')) as [number | null];
  rmSync(disk, { recursive: true, force: true });
  if (code === 0) rmSync(folder, { recursive: true, force: true });
  else console.log(`logs are kept in ${folder}`);
  return code ?? 1;
}
