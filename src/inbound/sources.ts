import type { KeyObject } from 'node:crypto';
import { createNetworkList } from '../platform/client-address.ts';
import { compileScheme, type HmacDescription, providers, type Scheme } from '../signing/index.ts';
import type { InboundGroup, SourceConfig } from './settings.ts';

/** A sender, resolved once from the configuration. */
export type Source = {
  readonly code: string;
  /** The id of the code in posthorn.sources. */
  readonly id: number;
  readonly scheme: Scheme;
  readonly site: string | null;
  readonly maxBodyBytes: number;
  readonly toleranceSeconds: number;
  readonly skippedTypes: ReadonlySet<string>;
  /** The keys that hold right now; empty while there is none that is usable (gate 5 refuses then). */
  readonly keys: () => readonly KeyObject[];
};

/** Gate 2 in one look-up: registered, listed in allowed_sources, and the client's address allowed. */
export type Sources = { find(code: string, clientIp: string | null): Source | undefined };

export function schemeOf(config: SourceConfig): Scheme {
  return compileScheme(descriptionOf(config));
}

/**
 * Precedence of limits: the source's own, then its provider's, then the group's setting.
 * `ids` gives each code's id in the database, `keys` the current keys of a code.
 */
export function createSources(
  configs: Readonly<Record<string, SourceConfig>>,
  group: InboundGroup,
  { ids, keys }: { ids: ReadonlyMap<string, number>; keys: (code: string) => readonly KeyObject[] },
): Sources {
  const isAddressAllowed = addressFilter(group.allowed_sources);
  const listed = group.allowed_sources.filter((entry) => !entry.includes('/'));
  const sources = new Map<string, Source>();
  for (const [code, config] of Object.entries(configs)) {
    const id = ids.get(code);
    if (id === undefined || (listed.length > 0 && !listed.includes(code))) continue;
    const provider = typeof config.scheme === 'string' ? providers[config.scheme] : undefined;
    sources.set(code, {
      code,
      id,
      scheme: schemeOf(config),
      site: config.site ?? null,
      maxBodyBytes: 1024 * (config.maxPayloadKb ?? provider?.maxPayloadKb ?? group.max_payload_size_kb),
      toleranceSeconds: config.toleranceSeconds ?? group.timestamp_tolerance_seconds,
      skippedTypes: new Set(provider?.skippedTypes),
      keys: () => keys(code),
    });
  }
  return {
    find: (code, clientIp) => (isAddressAllowed(clientIp) ? sources.get(code) : undefined),
  };
}

function descriptionOf(config: SourceConfig): HmacDescription {
  if (typeof config.scheme !== 'string') return config.scheme;
  return (providers[config.scheme] as (typeof providers)[string]).scheme;
}

function addressFilter(allowed: readonly string[]): (ip: string | null) => boolean {
  const networks = allowed.filter((entry) => entry.includes('/'));
  if (networks.length === 0) return () => true;
  const isInside = createNetworkList(networks);
  return (ip) => ip !== null && isInside(ip);
}
