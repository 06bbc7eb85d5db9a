import { accessSync, constants, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ConfigProblem } from '../platform/config.ts';
import type { Log } from '../platform/log.ts';
import { readSecret, SecretFiles, secretPath, warnOfOpenFile } from '../platform/secrets.ts';
import { standardSecretProblem } from '../signing/index.ts';
import { resolveProgram } from './exec-handler.ts';
import type { HandlerConfig } from './handler-settings.ts';

type Folders = { readonly folder: string; readonly dataDir: string };

/** What is wrong with the files that a handler names: its module, its program, its secrets. `at` is its place. */
export function handlerFileComplaints(config: HandlerConfig, at: string, folders: Folders): ConfigProblem[] {
  const { module, exec } = config;
  const problems: ConfigProblem[] = [];
  const problem = (path: string, message: string) => problems.push({ path: `${at}.${path}`, message });
  if (module !== undefined && !isFile(resolve(folders.folder, module)))
    problem('module', `names ${resolve(folders.folder, module)}, but there is no such file`);
  if (exec !== undefined) {
    const [program = ''] = resolveProgram(exec.command, folders.folder);
    if (program.includes('/') && !isFile(program)) {
      problem('exec.command', `names ${program}, but there is no such file`);
    } else if (program.includes('/') && !isExecutable(program)) {
      problem(
        'exec.command',
        `names ${program}, which may not be executed; mend it with: chmod +x ${program}`,
      );
    }
  }
  for (const path of secretPaths(config, folders)) {
    const read = readSecret({ file: path });
    const fault = 'problem' in read ? read.problem : standardSecretProblem(read.text);
    if (fault !== undefined) problem('http.secretFile', `the secret in ${path} ${fault}`);
  }
  return problems;
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

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
