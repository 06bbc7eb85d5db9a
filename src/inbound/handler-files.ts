import { accessSync, constants } from 'node:fs';
import { join, resolve } from 'node:path';
import { type ConfigProblem, environment, fileProblem } from '../platform/config.ts';
import type { Log } from '../platform/log.ts';
import { placeText, readSecret, SecretFiles, secretPath, warnOfOpenFile } from '../platform/secrets.ts';
import { standardSecretProblem } from '../signing/index.ts';
import { resolveProgram } from './exec-handler.ts';
import { type HandlerConfig, namedFiles } from './handler-settings.ts';

type Folders = { readonly folder: string; readonly dataDir: string };

/** What is wrong with the files that an entry names: its module, its program, its secrets. `at` is its place. */
export function handlerFileComplaints(entry: unknown, at: string, folders: Folders): ConfigProblem[] {
  const { module, program, path, secrets } = namedFiles(entry);
  const problems: ConfigProblem[] = [];
  const problem = (where: string, message: string) => problems.push({ path: `${at}.${where}`, message });
  const moduleFault = module && fileProblem(resolve(folders.folder, module));
  if (moduleFault) problem('module', moduleFault);
  const fault = program && programProblem(resolveProgram([program], folders.folder)[0] as string, path);
  if (fault) problem('exec.command', fault);
  for (const named of secrets) {
    const file = secretPath(named, folders);
    const read = readSecret({ file });
    const unusable = 'problem' in read ? read.problem : standardSecretProblem(read.text);
    if (unusable !== undefined)
      problem('http.secretFile', `the secret in ${placeText({ file })} ${unusable}`);
  }
  return problems;
}

function programProblem(program: string, path = environment.PATH ?? ''): string | undefined {
  if (program.includes('/')) {
    const fault = fileProblem(program);
    if (fault !== undefined || isExecutable(program)) return fault;
    return `names ${program}, which may not be executed; mend it with: chmod +x ${program}`;
  }
  if (process.platform === 'win32' || path === '') return undefined;
  const isFound = path.split(':').some((folder) => isExecutable(join(folder, program)));
  return isFound
    ? undefined
    : `names ${program}, which is in no folder of PATH; a program beside the configuration is ./${program}`;
}

export type HandlerSecrets = {
  /** The secrets of a handler that hold now; undefined where it names none, empty where none can be used. */
  of(handler: string): readonly string[] | undefined;
  start(): void;
  stop(): void;
};

/** The secrets with which http handlers sign; they follow their files. A handler without one is warned of. */
export function createHandlerSecrets(
  configs: readonly HandlerConfig[],
  { log, ...folders }: Folders & { log: Log },
): HandlerSecrets {
  const contents = new Map<string, string>();
  const places = new Map<string, string[]>();
  for (const config of configs) {
    if (config.http === undefined) continue;
    const paths = secretPaths(config, folders);
    if (paths.length === 0) {
      log.warn(
        { event: 'handler.unsigned', handler: config.name },
        `handler ${config.name} names no secret: its requests are not signed; add http.secretFile`,
      );
      continue;
    }
    places.set(config.name, paths);
    for (const path of paths) {
      const read = readSecret({ file: path });
      contents.set(path, 'text' in read ? read.text : '');
      warnOfOpenFile(path, log);
    }
  }
  const files = new SecretFiles(contents, (path, text) => {
    contents.set(path, text ?? '');
    const fault = text === undefined ? 'is empty or gone' : standardSecretProblem(text);
    if (fault === undefined)
      log.info({ event: 'secret.changed', file: path }, `took the new secret in ${path}`);
    else log.error({ event: 'secret.refused', file: path }, `the secret in ${path} ${fault}`);
  });
  return {
    of: (handler) =>
      places
        .get(handler)
        ?.map((path) => contents.get(path) as string)
        .filter((text) => standardSecretProblem(text) === undefined),
    start: () => files.start(),
    stop: () => files.stop(),
  };
}

function secretPaths({ http }: HandlerConfig, folders: Folders): string[] {
  return [http?.secretFile ?? []].flat().map((named) => secretPath(named, folders));
}

function isExecutable(path: string): boolean {
  if (fileProblem(path) !== undefined) return false;
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
