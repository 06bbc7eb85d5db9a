import { readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AppError } from '../../core/errors.ts';

/** Whom PostgreSQL runs as. `switched`: another user than this process's own, because that one is root. */
export type RunUser = { uid: number; gid: number; name: string; switched: boolean };

const preferred = ['posthorn', 'postgres', 'nobody'];

export async function findRunUser(): Promise<RunUser> {
  const uid = process.getuid?.() ?? 0;
  const gid = process.getgid?.() ?? 0;
  return chooseRunUser({ uid, gid, passwd: uid === 0 ? await readFile('/etc/passwd', 'utf8') : '' });
}

/** PostgreSQL refuses to run as root, so root lends it the first of three users; everybody else is himself. */
export function chooseRunUser(self: { uid: number; gid: number; passwd: string }): RunUser {
  if (self.uid !== 0) return { uid: self.uid, gid: self.gid, name: `user ${self.uid}`, switched: false };
  const users = new Map(self.passwd.split('\n').map((line) => [line.split(':')[0], line.split(':')]));
  for (const name of preferred) {
    const fields = users.get(name);
    const [uid, gid] = [Number(fields?.[2]), Number(fields?.[3])];
    if (fields && Number.isInteger(uid) && Number.isInteger(gid) && uid !== 0) {
      return { uid, gid, name, switched: true };
    }
  }
  throw new AppError(
    'EMBEDDED_POSTGRES_UNAVAILABLE',
    'PostgreSQL refuses to run as root and this machine has none of the users posthorn, postgres and nobody: ' +
      'create one (`useradd --system posthorn`), start Posthorn as an ordinary user, or set DATABASE_URL.',
  );
}

/** True where every directory on the way to `path` (a real path), and `path` itself, lets the user in. */
export async function canReach(path: string, user: RunUser): Promise<boolean> {
  if (!user.switched) return true;
  for (let step = path; ; step = dirname(step)) {
    if (!mayEnter(await stat(step), user)) return false;
    if (step === dirname(step)) return true;
  }
}

// The mode bits only. An access list may allow more; then /var/lib/posthorn is used without need, which is safe.
export function mayEnter(entry: { uid: number; gid: number; mode: number }, user: RunUser): boolean {
  if (entry.uid === user.uid) return (entry.mode & 0o100) !== 0;
  if (entry.gid === user.gid) return (entry.mode & 0o010) !== 0;
  return (entry.mode & 0o001) !== 0;
}
