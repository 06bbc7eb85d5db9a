import type { KeyObject } from 'node:crypto';
import { createNetworkList } from '../platform/client-address.ts';
import {
  compileScheme,
  type Provider,
  providers,
  rateOfOneShotSenders,
  type Scheme,
} from '../signing/index.ts';
import type { InboundGroup, RequireConfig, SourceConfig } from './settings.ts';

/** A sender, resolved once from the configuration. */
export type Source = {
  readonly code: string;
  /** The id of the code in posthorn.sources. */
  readonly id: number;
  readonly scheme: Scheme;
  readonly config: SourceConfig;
  /** Undefined for a sender that the configuration describes itself. */
  readonly provider: Provider | undefined;
  readonly site: string | null;
  readonly maxBodyBytes: number;
  readonly toleranceSeconds: number;
  readonly ratePerMinute: number;
  readonly skippedTypes: ReadonlySet<string>;
  /** Whether the body's digest is part of the business key (SIG-11). */
  readonly dedupesByBody: boolean;
  /** Headers, in lower case, whose values are kept nowhere. */
  readonly secretHeaders: ReadonlySet<string>;
  /** The keys that hold right now; empty while there is none that is usable (gate 5 refuses then). */
  readonly keys: () => readonly KeyObject[];
  /** What else must hold, with its own keys. */
  readonly further: readonly { readonly scheme: Scheme; readonly keys: () => readonly KeyObject[] }[];
  /** The tokens that prove a handshake of a sender that signs none. */
  readonly verifyTokens: () => readonly KeyObject[];
};

/** Gate 2 in one look-up: registered, listed in allowed_sources, and the client's address allowed. */
export type Sources = { find(code: string, clientIp: string | null): Source | undefined };

/** A source has secrets for its scheme, for each further check, and for the handshake. */
export type KeySlot = 'scheme' | 'verifyToken' | `require.${number}`;

export function providerOf(config: SourceConfig): Provider | undefined {
  return typeof config.scheme === 'string' ? providers[config.scheme] : undefined;
}

export function schemeOf(config: SourceConfig): Scheme {
  const { publicUrl, webhookId, topics, key, networks, scheme } = config;
  const description = typeof scheme === 'string' ? (providers[scheme] as Provider).scheme : scheme;
  return compileScheme(description, { publicUrl, webhookId, topics, key, networks });
}

/** A further check as a scheme of its own. */
export function requiredScheme(required: RequireConfig): Scheme {
  const eventId = [{ digest: 'body' }] as const;
  if ('ip' in required) return compileScheme({ check: { family: 'ip', networks: required.ip }, eventId });
  if ('basic' in required) return compileScheme({ check: { family: 'basic' }, eventId });
  const { header, prefix } = required.token;
  return compileScheme({ check: { family: 'token', from: { header }, prefix }, eventId });
}

/** The verify token of a handshake, judged as a token of any sender is. */
export const verifyTokenScheme = compileScheme({
  check: { family: 'token', from: { query: 'hub.verify_token' }, leastLength: 8 },
  eventId: [{ digest: 'body' }],
});

/**
 * Precedence of limits: the source's own, then its provider's, then the group's setting.
 * `ids` gives each code's id in the database, `keys` the current keys of a code.
 */
export function createSources(
  configs: Readonly<Record<string, SourceConfig>>,
  group: InboundGroup,
  {
    ids,
    keys,
  }: { ids: ReadonlyMap<string, number>; keys: (code: string, slot: KeySlot) => readonly KeyObject[] },
): Sources {
  const isAddressAllowed = addressFilter(group.allowed_sources);
  const listed = group.allowed_sources.filter((entry) => !entry.includes('/'));
  const sources = new Map<string, Source>();
  for (const [code, config] of Object.entries(configs)) {
    const id = ids.get(code);
    if (id === undefined || (listed.length > 0 && !listed.includes(code))) continue;
    sources.set(code, createSource({ code, id, config, group, keys: (slot) => keys(code, slot) }));
  }
  return {
    find: (code, clientIp) => (isAddressAllowed(clientIp) ? sources.get(code) : undefined),
  };
}

function createSource(of: {
  code: string;
  id: number;
  config: SourceConfig;
  group: InboundGroup;
  keys: (slot: KeySlot) => readonly KeyObject[];
}): Source {
  const { code, id, config, group, keys } = of;
  const provider = providerOf(config);
  const scheme = schemeOf(config);
  const further = (config.require ?? []).map((required, index) => ({
    scheme: requiredScheme(required),
    keys: () => keys(`require.${index}`),
  }));
  return {
    code,
    id,
    scheme,
    config,
    provider,
    site: config.site ?? null,
    maxBodyBytes: 1024 * (config.maxPayloadKb ?? provider?.maxPayloadKb ?? group.max_payload_size_kb),
    toleranceSeconds:
      config.toleranceSeconds ?? provider?.toleranceSeconds ?? group.timestamp_tolerance_seconds,
    ratePerMinute: provider?.retries === 'none' ? rateOfOneShotSenders : 120,
    skippedTypes: new Set(provider?.skippedTypes),
    dedupesByBody: config.dedupe === 'body',
    secretHeaders: new Set(
      [scheme, ...further.map((each) => each.scheme)].flatMap(({ check }) => check.secretHeaders),
    ),
    keys: () => keys('scheme'),
    further,
    verifyTokens: () => keys('verifyToken'),
  };
}

function addressFilter(allowed: readonly string[]): (ip: string | null) => boolean {
  const networks = allowed.filter((entry) => entry.includes('/'));
  if (networks.length === 0) return () => true;
  const isInside = createNetworkList(networks);
  return (ip) => ip !== null && isInside(ip);
}
