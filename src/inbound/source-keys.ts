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
import type { Scheme } from '../signing/index.ts';
import type { SourceConfig } from './settings.ts';
import { type KeySlot, providerOf, requiredScheme, schemeOf, verifyTokenScheme } from './sources.ts';

export type SourceKeys = {
  /** The keys of a source that hold now, in the order of the configuration. Empty = gate 5 refuses. */
  of(code: string, slot: KeySlot): readonly KeyObject[];
  start(): void;
  stop(): void;
  /** One look at the secret files, for tests and for whoever cannot wait a second. */
  look(): Promise<void>;
};

type Folders = { readonly folder: string; readonly dataDir: string };
type Check = Scheme['check'];
type Held = { readonly place: SecretPlace; readonly check: Check; key: KeyObject | undefined };

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
    placesOf(config, folders).flatMap(({ place, path, isOwn, check }) => {
      const read = readSecret(place);
      if (ownMayBeMissing && isOwn && 'problem' in read) return [];
      const problem = 'problem' in read ? read.problem : check.secretProblem(read.text);
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
  /** By code and slot. */
  const held = new Map<string, Held[]>();
  const contents = new Map<string, string>();
  for (const [code, config] of Object.entries(configs)) {
    const places = placesOf(config, folders);
    warnOfWeakSource(code, config, log);
    for (const named of places) {
      const key = `${code} ${named.slot}`;
      held.set(key, [...(held.get(key) ?? []), hold(named, { contents, log })]);
    }
  }
  const current = new Map<string, readonly KeyObject[]>();
  const publish = () => {
    for (const [key, secrets] of held)
      current.set(
        key,
        secrets.flatMap((secret) => (secret.key === undefined ? [] : [secret.key])),
      );
  };
  publish();
  const files = new SecretFiles(contents, (file, text) => {
    for (const [key, secrets] of held) {
      for (const secret of secrets) {
        if (!('file' in secret.place) || secret.place.file !== file) continue;
        secret.key = takeChanged(key.split(' ')[0] as string, file, text, { check: secret.check, log });
      }
    }
    publish();
  });
  return {
    of: (code, slot) => current.get(`${code} ${slot}`) ?? none,
    start: () => files.start(),
    stop: () => files.stop(),
    look: () => files.look(),
  };
}

/** What a source does without is said at the start: nobody should find out by an incident. */
function warnOfWeakSource(code: string, config: SourceConfig, log: Log): void {
  const { check } = schemeOf(config);
  const hasSecret = list(config.secretFile).length + list(config.secretEnv).length > 0;
  if (check.needsSecret && !hasSecret && !isHandedOver(config)) {
    log.warn(
      { event: 'source.no_secret', source: code },
      `source ${code} names no secret: it refuses every webhook; add secretFile or secretEnv`,
    );
  }
  if (check.provesNothing) {
    log.warn(
      { event: 'source.unproven', source: code },
      `source ${code} proves nothing about its sender: whoever knows its URL can send; add require where the sender can do more`,
    );
  }
}

/** Whether the sender hands its secret over in a handshake. */
export function isHandedOver(config: SourceConfig): boolean {
  const handshake = providerOf(config)?.handshake;
  const hasSecret = list(config.secretFile).length + list(config.secretEnv).length > 0;
  return !hasSecret && (handshake === 'asana' || handshake === 'notion');
}

const none: readonly KeyObject[] = [];

function hold(
  { place, check }: NamedPlace,
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
    check,
    key: check.secretProblem(text) === undefined ? check.keyOf(text) : undefined,
  };
}

/** Secrets named `data:...` are ours to make: a first start needs no preparation. Gives the files that were made. */
export function makeMissingSecrets(
  configs: Readonly<Record<string, SourceConfig>>,
  dataDir: string,
): string[] {
  return Object.values(configs)
    .flatMap((config) => [...list(config.secretFile), ...list(config.verifyTokenFile)])
    .filter(isOwnSecret)
    .map((named) => secretPath(named, { folder: dataDir, dataDir }))
    .filter((path) => makeSecretFile(path));
}

function takeChanged(
  code: string,
  file: string,
  text: string | undefined,
  { check, log }: { check: Check; log: Log },
): KeyObject | undefined {
  const problem = text === undefined ? 'is empty or gone' : check.secretProblem(text);
  if (text === undefined || problem !== undefined) {
    log.error(
      { event: 'secret.refused', source: code, file },
      `the secret in ${file} ${problem}; source ${code} does without it until it is mended`,
    );
    return undefined;
  }
  log.info({ event: 'secret.changed', source: code, file }, `took the new secret of source ${code}`);
  return check.keyOf(text);
}

type NamedPlace = {
  readonly place: SecretPlace;
  readonly path: string;
  readonly isOwn: boolean;
  readonly slot: KeySlot;
  readonly check: Check;
};

type Named = { secretFile?: string | string[] | undefined; secretEnv?: string | string[] | undefined };

function placesOf(config: SourceConfig, folders: Folders): NamedPlace[] {
  const places = (named: Named, { path, slot, check }: { path: string; slot: KeySlot; check: Check }) => {
    const [file, env] =
      slot === 'verifyToken' ? ['verifyTokenFile', 'verifyTokenEnv'] : ['secretFile', 'secretEnv'];
    const files = list(named.secretFile).map((name) => ({
      place: { file: secretPath(name, folders) },
      path: `${path}${file}`,
      isOwn: isOwnSecret(name),
      slot,
      check,
    }));
    const variables = list(named.secretEnv).map((name) => ({
      place: { env: name },
      path: `${path}${env}`,
      isOwn: false,
      slot,
      check,
    }));
    return [...files, ...variables];
  };
  const tokens = { secretFile: config.verifyTokenFile, secretEnv: config.verifyTokenEnv };
  return [
    ...places(config, { path: '', slot: 'scheme', check: schemeOf(config).check }),
    ...places(tokens, { path: '', slot: 'verifyToken', check: verifyTokenScheme.check }),
    ...(config.require ?? []).flatMap((required, index) => {
      if ('ip' in required) return [];
      const [kind, named] =
        'basic' in required ? (['basic', required.basic] as const) : (['token', required.token] as const);
      const { check } = requiredScheme(required);
      return places(named, { path: `require[${index}].${kind}.`, slot: `require.${index}`, check });
    }),
  ];
}

function isOwnSecret(named: string): boolean {
  return named.startsWith('data:');
}

function list(value: string | string[] | undefined): string[] {
  return value === undefined ? [] : Array.isArray(value) ? value : [value];
}
