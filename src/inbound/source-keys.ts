import type { KeyObject } from 'node:crypto';
import type { ConfigProblem } from '../platform/config.ts';
import type { Log } from '../platform/log.ts';
import {
  makeSecretFile,
  placeText,
  readSecret,
  SecretFiles,
  type SecretPlace,
  secretPath,
  warnOfOpenFile,
} from '../platform/secrets.ts';
import { type Scheme, secretProblem, signingKey } from '../signing/index.ts';
import type { SourceConfig } from './settings.ts';
import { schemeOf } from './sources.ts';

export type SourceKeys = {
  /** The keys of a source that hold now, newest configuration order kept. Empty = gate 5 refuses. */
  of(code: string): readonly KeyObject[];
  start(): void;
  stop(): void;
  /** One look at the secret files, for tests and for whoever cannot wait a second. */
  look(): Promise<void>;
};

type Folders = { readonly folder: string; readonly dataDir: string };
type Held = { readonly place: SecretPlace; key: KeyObject | undefined };

/**
 * What is wrong with the secrets that the configuration names. Any complaint stops the start: a source without its
 * secret would refuse every webhook. `ownMayBeMissing`: secrets that posthorn makes have not been made yet.
 */
export function secretComplaints(
  configs: Readonly<Record<string, SourceConfig>>,
  folders: Folders,
  { ownMayBeMissing = false }: { ownMayBeMissing?: boolean } = {},
): ConfigProblem[] {
  return Object.entries(configs).flatMap(([code, config]) =>
    placesOf(config, folders).flatMap(({ place, path, isOwn }) => {
      const read = readSecret(place);
      if (ownMayBeMissing && isOwn && 'problem' in read) return [];
      const problem = 'problem' in read ? read.problem : secretProblem(read.text, schemeOf(config));
      if (problem === undefined) return [];
      return [{ path: `sources.${code}.${path}`, message: `the secret in ${placeText(place)} ${problem}` }];
    }),
  );
}

/**
 * The keys of every source, which follow their files. While running, a secret that vanishes or shrinks makes its
 * source fail closed until it is mended; a start judges them by `secretComplaints` first.
 */
export function createSourceKeys(
  configs: Readonly<Record<string, SourceConfig>>,
  { log, ...folders }: Folders & { log: Log },
): SourceKeys {
  const held = new Map<string, Held[]>();
  const contents = new Map<string, string>();
  for (const [code, config] of Object.entries(configs)) {
    const places = placesOf(config, folders);
    if (places.length === 0) {
      log.warn(
        { event: 'source.no_secret', source: code },
        `source ${code} names no secret: it refuses every webhook; add secretFile or secretEnv`,
      );
    }
    held.set(
      code,
      places.map(({ place }) => hold(place, schemeOf(config), { contents, log })),
    );
  }
  const current = new Map<string, readonly KeyObject[]>();
  const publish = () => {
    for (const [code, secrets] of held)
      current.set(
        code,
        secrets.flatMap(({ key }) => (key === undefined ? [] : [key])),
      );
  };
  publish();
  const files = new SecretFiles(contents, (file, text) => {
    for (const [code, secrets] of held) {
      for (const secret of secrets) {
        if (!('file' in secret.place) || secret.place.file !== file) continue;
        secret.key = takeChanged(code, file, text, { scheme: schemeOf(configs[code] as SourceConfig), log });
      }
    }
    publish();
  });
  return {
    of: (code) => current.get(code) ?? none,
    start: () => files.start(),
    stop: () => files.stop(),
    look: () => files.look(),
  };
}

const none: readonly KeyObject[] = [];

function hold(
  place: SecretPlace,
  scheme: Scheme,
  { contents, log }: { contents: Map<string, string>; log: Log },
): Held {
  const read = readSecret(place);
  const text = 'text' in read ? read.text : '';
  if ('file' in place) {
    contents.set(place.file, text);
    warnOfOpenFile(place.file, log);
  }
  return {
    place,
    key: secretProblem(text, scheme) === undefined ? signingKey(text, scheme.keyEncoding) : undefined,
  };
}

/** Secrets named `data:...` are ours to make: a first start needs no preparation. Gives the files that were made. */
export function makeMissingSecrets(
  configs: Readonly<Record<string, SourceConfig>>,
  dataDir: string,
): string[] {
  return Object.values(configs)
    .flatMap((config) => list(config.secretFile))
    .filter(isOwnSecret)
    .map((named) => secretPath(named, { folder: dataDir, dataDir }))
    .filter((path) => makeSecretFile(path));
}

function takeChanged(
  code: string,
  file: string,
  text: string | undefined,
  { scheme, log }: { scheme: Scheme; log: Log },
): KeyObject | undefined {
  const problem = text === undefined ? 'is empty or gone' : secretProblem(text, scheme);
  if (text === undefined || problem !== undefined) {
    log.error(
      { event: 'secret.refused', source: code, file },
      `the secret in ${file} ${problem}; source ${code} does without it until it is mended`,
    );
    return undefined;
  }
  log.info({ event: 'secret.changed', source: code, file }, `took the new secret of source ${code}`);
  return signingKey(text, scheme.keyEncoding);
}

type NamedPlace = { readonly place: SecretPlace; readonly path: string; readonly isOwn: boolean };

function placesOf(config: SourceConfig, folders: Folders): NamedPlace[] {
  const files = list(config.secretFile).map((named) => ({
    place: { file: secretPath(named, folders) },
    path: 'secretFile',
    isOwn: isOwnSecret(named),
  }));
  const variables = list(config.secretEnv).map((name) => ({
    place: { env: name },
    path: 'secretEnv',
    isOwn: false,
  }));
  return [...files, ...variables];
}

function isOwnSecret(named: string): boolean {
  return named.startsWith('data:');
}

function list(value: string | string[] | undefined): string[] {
  return value === undefined ? [] : Array.isArray(value) ? value : [value];
}
