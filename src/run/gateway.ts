import {
  addCallback,
  BodyBudget,
  BodyThread,
  Certificates,
  createInboundHttp,
  createReceive,
  createSources,
  HandedSecrets,
  type InboundGroup,
  type Journal,
  registerSources,
  type SourceConfig,
  type SourceKeys,
  useToken,
} from '../inbound/index.ts';
import { createAddressPolicy } from '../platform/address-policy.ts';
import { createClientAddress, type TrustProxy } from '../platform/client-address.ts';
import type { Clock } from '../platform/clock.ts';
import type { Pool } from '../platform/db.ts';
import type { Encryption } from '../platform/encryption.ts';
import { createGuardedFetch, type GuardedFetch } from '../platform/guarded-fetch.ts';
import { createHttpListener, type HttpListener } from '../platform/http-server.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import { createNameLookup } from '../platform/name-lookup.ts';
import { inboundMetrics } from './inbound-metrics.ts';

export type GatewayDeps = {
  readonly sources: Readonly<Record<string, SourceConfig>>;
  readonly group: InboundGroup;
  readonly http: { trustProxy: TrustProxy; keepAliveMs: number; maxConnections: number };
  readonly keys: SourceKeys;
  readonly pool: Pool;
  readonly clock: Clock;
  readonly journal: Journal;
  readonly log: Log;
  readonly metrics: Metrics;
  /** For secrets that senders hand over; asked for at the first need. */
  readonly encryption: () => Encryption;
  /** How certificates of senders are fetched; the usual guarded way where it is left out. */
  readonly certificates?: { readonly fetch: GuardedFetch; readonly roots?: readonly string[] };
};

/**
 * The gateway role: the public listener in front of the journal. Registers the configuration's sources in the
 * database and gives a listener that does not listen yet, and what has to be stopped with it.
 */
export async function createGateway(deps: GatewayDeps): Promise<HttpListener & { stop(): Promise<void> }> {
  const { pool, clock, log, keys } = deps;
  const ids = await registerSources(pool, Object.keys(deps.sources));
  const handed = new HandedSecrets(deps.sources, { pool, encryption: deps.encryption, log });
  await handed.start();
  const thread = new BodyThread({ log });
  const fetching = deps.certificates ?? {
    fetch: createGuardedFetch({ policy: createAddressPolicy(), lookup: createNameLookup() }),
  };
  const certificates = new Certificates({ clock, log, ...fetching });
  const sources = createSources(deps.sources, deps.group, {
    ids,
    keys: (code, slot) => (slot === 'scheme' ? handed.keysOf(code) : undefined) ?? keys.of(code, slot),
  });
  const orUnavailable = <T>(work: Promise<T>): Promise<T | 'unavailable'> =>
    work.catch((error: Error) => {
      log.error(
        { event: 'signing.write_failed', reason: error.message },
        'what a sender sent could not be stored',
      );
      return 'unavailable';
    });
  const receive = createReceive({
    group: deps.group,
    sources,
    journal: deps.journal,
    thread,
    certificates,
    handed,
    startedAt: clock.now(),
    useToken: (source, token, bodyDigest) =>
      orUnavailable(useToken(pool, { source, token, bodyDigest })).then((isFresh) =>
        isFresh === 'unavailable' ? isFresh : isFresh ? 'fresh' : 'reused',
      ),
    addCallback: (source, url) =>
      orUnavailable(addCallback(pool, { source, url, now: clock.now() })).then((added) => added ?? 'added'),
  });
  const inbound = createInboundHttp({
    receive,
    clock,
    log,
    budget: new BodyBudget(),
    clientIp: createClientAddress(deps.http.trustProxy),
    metrics: inboundMetrics(deps.metrics, Object.keys(deps.sources)),
  });
  const listener = createHttpListener({
    name: 'public',
    limits: deps.http,
    log,
    front: (request, response) => inbound.handle(request, response),
  });
  return {
    ...listener,
    stop: async () => {
      handed.stop();
      certificates.close();
      await thread.close();
    },
  };
}
