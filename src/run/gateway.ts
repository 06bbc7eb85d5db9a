import {
  BodyBudget,
  createInboundHttp,
  createReceive,
  createSources,
  type InboundGroup,
  type Journal,
  registerSources,
  type SourceConfig,
  type SourceKeys,
} from '../inbound/index.ts';
import { createClientAddress, type TrustProxy } from '../platform/client-address.ts';
import type { Clock } from '../platform/clock.ts';
import type { Pool } from '../platform/db.ts';
import { createHttpListener, type HttpListener } from '../platform/http-server.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import { inboundMetrics } from './inbound-metrics.ts';

/**
 * The gateway role: the public listener in front of the journal. Registers the configuration's sources in the
 * database and gives a listener that does not listen yet.
 */
export async function createGateway(deps: {
  sources: Readonly<Record<string, SourceConfig>>;
  group: InboundGroup;
  http: { trustProxy: TrustProxy; keepAliveMs: number; maxConnections: number };
  keys: SourceKeys;
  pool: Pool;
  clock: Clock;
  journal: Journal;
  log: Log;
  metrics: Metrics;
}): Promise<HttpListener> {
  const ids = await registerSources(deps.pool, Object.keys(deps.sources));
  const sources = createSources(deps.sources, deps.group, { ids, keys: (code) => deps.keys.of(code) });
  const inbound = createInboundHttp({
    receive: createReceive({ group: deps.group, sources, journal: deps.journal }),
    clock: deps.clock,
    log: deps.log,
    budget: new BodyBudget(),
    clientIp: createClientAddress(deps.http.trustProxy),
    metrics: inboundMetrics(deps.metrics, Object.keys(deps.sources)),
  });
  return createHttpListener({
    name: 'public',
    limits: deps.http,
    log: deps.log,
    front: (request, response) => inbound.handle(request, response),
  });
}
