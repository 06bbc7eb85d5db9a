import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import {
  handlerFileComplaints,
  handlersSchema,
  inboundGroupSchema,
  type SourceConfig,
  secretComplaints,
  sourcesSchema,
} from '../inbound/index.ts';
import { isNetwork } from '../platform/client-address.ts';
import {
  type ConfigProblem,
  configInvalid,
  environment,
  findConfigFile,
  parseConfig,
  readConfigFile,
} from '../platform/config.ts';
import { logLevels } from '../platform/log.ts';

const port = z
  .int('must be a whole number')
  .min(0, 'must be 0 to 65535 (0 = any free port)')
  .max(65_535, 'must be 0 to 65535 (0 = any free port)');
const wholeNumber = (least: number, most: number) =>
  z
    .int('must be a whole number')
    .min(least, `must be at least ${least}`)
    .max(most, `must be at most ${most}`);
const host = z.string('must be a host name or address').min(1, 'must not be empty');
const databaseUrl = z
  .string('must be a URL such as postgres://user@host/database')
  .refine(isDatabaseUrl, 'must be a URL such as postgres://user@host:5432/database');

const httpSchema = z.strictObject({
  host: host.default('127.0.0.1'),
  port: port.default(8400),
  adminHost: host.default('127.0.0.1'),
  adminPort: port.default(8401),
  trustProxy: z
    .union(
      [wholeNumber(0, 10), z.array(z.string().refine(isNetwork, 'must be a network such as 10.0.0.0/8'))],
      'must be the number of proxies in front, or a list of their networks',
    )
    .default(0),
  keepAliveMs: wholeNumber(1_000, 600_000).default(5_000),
  answerDeadlineMs: wholeNumber(500, 60_000).default(2_500),
  maxConnections: wholeNumber(1, 100_000).default(10_000),
});

/** The whole configuration file. Every group is one part's slice; that part alone reads it. */
export const configurationSchema = z.strictObject({
  sources: sourcesSchema.default({}),
  handlers: handlersSchema.default([]),
  inbound: inboundGroupSchema.prefault({}),
  encryption: z
    .strictObject({
      keyFile: z
        .string('must be the path of a file')
        .min(1, 'must not be empty')
        .default('data:secrets/encryption-keys'),
    })
    .prefault({}),
  dataDir: z.string('must be the path of a folder').min(1, 'must not be empty').optional(),
  log: z
    .strictObject({ level: z.enum(logLevels, `must be one of ${logLevels.join(', ')}`).default('info') })
    .prefault({}),
  http: httpSchema.prefault({}),
  database: z
    .strictObject({
      url: databaseUrl.optional(),
      pooler: z.boolean('must be true or false').default(false),
      directUrl: databaseUrl.optional(),
    })
    .prefault({}),
});

export type Flags = {
  readonly config?: string;
  readonly host?: string;
  readonly port?: string;
  readonly adminPort?: string;
  readonly dataDir?: string;
};

export type Configuration = z.output<typeof configurationSchema> & {
  /** The file that was read, and its folder: paths inside it are relative to that. */
  readonly file: string;
  readonly folder: string;
  readonly dataDir: string;
};

/**
 * Finds, reads and checks the configuration: a flag wins over the environment, that over the file. Throws
 * CONFIG_NOT_FOUND, or CONFIG_INVALID with every problem at once, each with its path and its mend. With
 * `beforeFiles` what the file names is judged as well (secrets, modules, programs), which only a server needs: whoever
 * looks at the database must not depend on it. It is called with the sources whose keys are right, and may make what is
 * missing.
 */
export async function loadConfiguration(
  flags: Flags,
  beforeFiles?: (sources: Record<string, SourceConfig>, dataDir: string) => void,
): Promise<Configuration> {
  const file = findConfigFile(flags.config);
  const folder = dirname(file);
  const raw = await readConfigFile(file);
  const parsed = parseConfig(configurationSchema, raw);
  const problems: ConfigProblem[] = [...parsed.problems];
  const overrides = readOverrides(flags, problems);
  const dataDir =
    overrides.dataDir ?? resolve(folder, parsed.value?.dataDir ?? textAt(raw, 'dataDir') ?? '.posthorn');
  const isGroup = parsed.value !== undefined || problems[0]?.path !== '';
  if (isGroup) problems.push(...sourceNameProblems(raw));
  if (beforeFiles !== undefined) {
    if (isGroup) problems.push(...handlerComplaints(raw, { folder, dataDir }));
    const sources = soundSources(raw);
    const isSound = parsed.value !== undefined && problems.length === 0;
    if (isSound) beforeFiles(sources, dataDir);
    problems.push(...secretComplaints(sources, { folder, dataDir }, { ownMayBeMissing: !isSound }));
  }
  if (parsed.value === undefined || problems.length > 0) throw configInvalid(file, problems);

  const { value } = parsed;
  const { host = value.http.host, port = value.http.port, adminPort = value.http.adminPort } = overrides;
  return {
    ...value,
    file,
    folder,
    dataDir,
    http: { ...value.http, host, port, adminPort },
    database: { ...value.database, url: overrides.databaseUrl ?? value.database.url },
  };
}

/** Flags and environment, in this order; an empty variable counts as unset. */
function readOverrides(flags: Flags, problems: ConfigProblem[]) {
  const dataDir = flags.dataDir ?? (environment.POSTHORN_DATA_DIR || undefined);
  const url = environment.DATABASE_URL || undefined;
  if (url !== undefined && !databaseUrl.safeParse(url).success) {
    problems.push({
      path: 'DATABASE_URL',
      message: 'must be a URL such as postgres://user@host:5432/database',
    });
  }
  return {
    host: flags.host,
    port: portFrom(problems, ['--port', flags.port], ['POSTHORN_PORT', environment.POSTHORN_PORT]),
    adminPort: portFrom(
      problems,
      ['--admin-port', flags.adminPort],
      ['POSTHORN_ADMIN_PORT', environment.POSTHORN_ADMIN_PORT],
    ),
    dataDir: dataDir === undefined ? undefined : resolve(dataDir),
    databaseUrl: url,
  };
}

function portFrom(problems: ConfigProblem[], ...origins: [string, string | undefined][]): number | undefined {
  const given = origins.find(([, value]) => value !== undefined && value !== '');
  if (given === undefined) return undefined;
  const [origin, value] = given;
  if (/^\d{1,5}$/.test(value as string) && Number(value) <= 65_535) return Number(value);
  problems.push({ path: origin, message: 'must be a port number from 0 to 65535 (0 = any free port)' });
  return undefined;
}

/** Names of sources that stand nowhere under `sources`. Judged where other parts of the file are wrong, too. */
function sourceNameProblems(raw: unknown): ConfigProblem[] {
  const sources = valueAt(raw, 'sources') ?? {};
  const isUnknown = (name: unknown) => typeof name === 'string' && !Object.hasOwn(sources, name);
  const handlers = listAt(raw, 'handlers').flatMap((handler, index) => {
    const source = valueAt(handler, 'source');
    const message = `names ${source}, which does not stand under sources; correct it or add it there`;
    return isUnknown(source) ? [{ path: `handlers[${index}].source`, message }] : [];
  });
  const allowed = listAt(valueAt(raw, 'inbound'), 'allowed_sources').flatMap((entry, index) => {
    const message = `names ${entry}, which does not stand under sources; correct it or remove it`;
    const isNetwork = String(entry).includes('/');
    return isUnknown(entry) && !isNetwork ? [{ path: `inbound.allowed_sources[${index}]`, message }] : [];
  });
  return [...handlers, ...allowed];
}

/** Also judged where other parts of the file are wrong, so that one start shows everything. */
function handlerComplaints(raw: unknown, folders: { folder: string; dataDir: string }): ConfigProblem[] {
  return listAt(raw, 'handlers').flatMap((handler, index) =>
    handlerFileComplaints(handler, `handlers[${index}]`, folders),
  );
}

function soundSources(raw: unknown): Record<string, SourceConfig> {
  const sources: Record<string, SourceConfig> = {};
  for (const [code, source] of Object.entries(valueAt(raw, 'sources') ?? {})) {
    const parsed = sourcesSchema.safeParse({ [code]: source });
    if (parsed.success) Object.assign(sources, parsed.data);
  }
  return sources;
}

function valueAt(raw: unknown, key: string): unknown {
  return typeof raw === 'object' && raw !== null ? (raw as Record<string, unknown>)[key] : undefined;
}

function listAt(raw: unknown, key: string): unknown[] {
  const value = valueAt(raw, key);
  return Array.isArray(value) ? value : [];
}

function textAt(raw: unknown, key: string): string | undefined {
  const value = valueAt(raw, key);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A host that is empty stands for a socket, named by `?host=/folder`. */
function isDatabaseUrl(text: string): boolean {
  return (
    /^postgres(ql)?:\/\//.test(text) &&
    URL.canParse(text.replace(/^(postgres(?:ql)?:\/\/(?:[^@/?#]*@)?)(?=[/?#]|$)/, '$1localhost'))
  );
}
