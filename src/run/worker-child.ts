/**
 * The worker's process: handlers run here, away from the listeners, so that whatever a handler does (compute, throw
 * in a callback, exit) never touches ingest. It ends when its parent is gone.
 */

import { setPriority } from 'node:os';
import { AppError } from '../core/errors.ts';
import {
  Callbacks,
  createFileHandlers,
  createInboundWorker,
  type FileHandlers,
  type InboundWorker,
  loadHandlers,
  planMarks,
  providerOf,
  registerSources,
  schemeOf,
} from '../inbound/index.ts';
import { createAddressPolicy } from '../platform/address-policy.ts';
import type { Clock } from '../platform/clock.ts';
import { DatabaseClock } from '../platform/database-clock.ts';
import {
  createPool,
  databaseUnreachable,
  isConnectionFailure,
  isPooledAddress,
  type Pool,
} from '../platform/db.ts';
import { createGuardedFetch } from '../platform/guarded-fetch.ts';
import { createLog, type Log } from '../platform/log.ts';
import { counter, createMetrics, poolMetrics } from '../platform/metrics.ts';
import { createNameLookup } from '../platform/name-lookup.ts';
import { Listener } from '../platform/wake.ts';
import {
  type FromWorker,
  type ToWorker,
  type WorkerOrder,
  wakeChannel,
  workerMark,
} from './worker-messages.ts';

const beatEveryMs = 1_000;
/** What is acknowledged can wait, what is not yet acknowledged cannot. */
const niceness = 10;
const graceMs = 10_000;

let work: InboundWorker | undefined;
let fileHandlers: FileHandlers | undefined;
let callbacks: Callbacks | undefined;
let isStopping = false;

// A terminal sends Ctrl-C to the whole group; the parent decides when this process stops.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});
// The run stays leased and is taken over; nothing can be saved without the parent that knows when to stop.
process.on('disconnect', () => process.exit(1));
process.on('message', (message: ToWorker) => {
  if (message.type === 'start') void start(message.order);
  else if (message.type === 'wake') work?.wake();
  else if (message.type === 'pressure') work?.judge(message.isPressed);
  else void stop();
});

async function start(order: WorkerOrder): Promise<void> {
  if (order.isBesideGateway) setPriority(niceness);
  const log = createLog({ level: order.logLevel, name: 'worker' });
  const metrics = createMetrics();
  const runs = counter(metrics, 'posthorn_runs_total', 'Tries of handlers by outcome', [
    'handler',
    'outcome',
  ]);
  const pools = createWorkerPools(order, log);
  poolMetrics(metrics, pools);
  const clock = new DatabaseClock({ pool: pools.lease, log });
  try {
    const { folder, dataDir, sources } = order;
    const sourceCodes = Object.keys(sources);
    fileHandlers = await createFileHandlers(order.handlers, { folder, dataDir, clock, log });
    const loading = { sourceCodes, folder, log, fromFile: fileHandlers.handlers };
    const { handlers, listeners } = await loadHandlers(order.handlers, loading);
    const sourceIds = await registerSources(pools.work, sourceCodes);
    await clock.start();
    work = createInboundWorker(
      handlers,
      { holder: order.holder, sourceIds, listeners },
      {
        pool: pools.work,
        txPool: pools.handlers,
        leasePool: pools.lease,
        schemes: new Map(Object.entries(sources).map(([code, config]) => [code, schemeOf(config)])),
        clock,
        log,
        metrics: { runEnded: (handler, outcome) => runs.inc({ handler, outcome }) },
      },
    );
  } catch (error) {
    const { code, message } = asStartError(error);
    say({ type: 'unusable', code, message });
    return;
  }
  setInterval(async () => say({ type: 'beat', metrics: await metrics.getMetricsAsJSON() }), beatEveryMs);
  say({ type: 'ready' });
  if (isStopping) process.exit(0);
  work.start();
  callbacks = startCallbacks(order, { pool: pools.work, clock, log });
  await listenForWakes(order, log);
}

/** Only where a sender has its subscriptions confirmed by a fetch. */
function startCallbacks(
  { sources }: WorkerOrder,
  deps: { pool: Pool; clock: Clock; log: Log },
): Callbacks | undefined {
  if (!Object.values(sources).some((source) => providerOf(source)?.handshake === 'sns')) return undefined;
  const fetch = createGuardedFetch({ policy: createAddressPolicy(), lookup: createNameLookup() });
  const started = new Callbacks({ ...deps, fetch });
  started.start();
  return started;
}

function asStartError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (isConnectionFailure(error)) return databaseUnreachable(error);
  return new AppError('HANDLER_MODULE_INVALID', (error as Error).message, { cause: error });
}

function createWorkerPools(order: WorkerOrder, log: Log) {
  const shared = { address: order.address, log };
  return {
    work: createPool({ ...shared, name: 'work', most: 5, byIndex: true }),
    // Heartbeats must neither wait for other statements nor hang.
    lease: createPool({ ...shared, name: 'lease', most: 1, statementTimeoutMs: 2_000, byIndex: true }),
    handlers: createPool({
      ...shared,
      name: 'handlers',
      most: 20,
      pipeline: true,
      onConnect: planMarks,
      statementTimeoutMs: 0,
      queryTimeoutMs: 0,
      numbers: false,
    }),
  };
}

async function listenForWakes({ directAddress: address }: WorkerOrder, log: Log): Promise<void> {
  if (isPooledAddress(address)) {
    log.warn(
      { event: 'worker.polls' },
      'behind a pooler this worker is not woken and looks once a second; set database.directUrl',
    );
    return;
  }
  await new Listener({ address, channel: wakeChannel, onWake: () => work?.wake(), log }).start();
}

async function stop(): Promise<void> {
  if (isStopping) return;
  isStopping = true;
  await work?.stop(graceMs);
  await Promise.all([fileHandlers?.stop(), callbacks?.stop()]);
  process.exit(0);
}

function say(message: FromWorker): void {
  if (process.connected) process.send?.({ mark: workerMark, ...message });
}
