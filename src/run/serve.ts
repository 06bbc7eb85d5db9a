import type { FastifyInstance } from 'fastify';
import { type HealthCheck, healthRoutes, metricsRoute } from '../admin/index.ts';
import { AppError } from '../core/errors.ts';
import { createSourceKeys, JournalWriter, makeMissingSecrets } from '../inbound/index.ts';
import { makingInDataDir } from '../platform/data-dir.ts';
import { DatabaseClock } from '../platform/database-clock.ts';
import {
  createPool,
  databaseUnreachable,
  isConnectionFailure,
  isPooledAddress,
  requireReachable,
} from '../platform/db.ts';
import { createEncryption } from '../platform/encryption.ts';
import { createHttpListener, type HttpListener } from '../platform/http-server.ts';
import { createLog, type Log } from '../platform/log.ts';
import { createMetrics, metricsText, poolMetrics } from '../platform/metrics.ts';
import { secretPath } from '../platform/secrets.ts';
import { Notifier } from '../platform/wake.ts';
import { type Configuration, type Flags, loadConfiguration } from './configuration.ts';
import { type Database, openDatabase, prepareSchema } from './database.ts';
import { createGateway, type GatewayDeps } from './gateway.ts';
import { createHealthCheck } from './health-check.ts';
import { journalMetrics } from './inbound-metrics.ts';
import { watchPressure } from './pressure.ts';
import { forgetRunning, rememberRunning } from './running-file.ts';
import { StopStack } from './stop-stack.ts';
import { createWorker } from './worker.ts';
import { wakeChannel } from './worker-messages.ts';

export const roles = ['gateway', 'worker', 'admin'] as const;
export type Role = (typeof roles)[number];

export type ServeOptions = Flags & { readonly roles?: readonly Role[]; readonly migrate?: boolean };

export type Serving = {
  readonly configuration: Configuration;
  readonly publicUrl: string | undefined;
  readonly adminUrl: string | undefined;
  /** The secret files that this start made. */
  readonly madeSecrets: readonly string[];
  /** Resolves with the exit code when the process has to end by itself. */
  readonly ended: Promise<number>;
  /** Stops in the reverse order of the start; twice is fine. */
  stop(): Promise<void>;
};

/** What is in flight may end within this (OPS-5). */
const graceMs = 10_000;

/**
 * Starts what the roles ask for, in order: database, schema, worker, admin, and the public listener last, so that
 * nothing is accepted before it can be recorded. What fails on the way stops what already runs.
 */
export async function serve(options: ServeOptions): Promise<Serving> {
  const madeSecrets: string[] = [];
  const configuration = await loadConfiguration(options, (sources, dataDir) => {
    madeSecrets.push(...makingInDataDir(dataDir, () => makeMissingSecrets(sources, dataDir)));
  });
  const active = new Set<Role>(options.roles ?? roles);
  refuseSplitEmbedded(active, configuration);
  const log = createLog({ level: configuration.log.level });
  const stack = new StopStack(log);
  let end: (exitCode: number) => void = () => {};
  const ended = new Promise<number>((resolve) => {
    end = resolve;
  });
  try {
    const onLost = (error: AppError) => {
      log.fatal({ event: 'database.lost', code: error.code }, error.message);
      end(error.exitCode);
    };
    const database = await openDatabase(configuration, { log, onLost });
    stack.push('database', () => database.stop());
    await prepareSchema(database, { log, apply: database.isEmbedded || options.migrate === true });

    const metrics = createMetrics();
    const pools = createServerPools(configuration, database, log);
    poolMetrics(metrics, pools);
    stack.push('pools', () => Promise.all(Object.values(pools).map((pool) => pool.end())));
    // The schema was looked at past a pooler; this is the way that everything else takes.
    await requireReachable(pools.admin);
    const clock = new DatabaseClock({ pool: pools.admin, log });
    stack.push('clock', () => clock.stop());
    await clock.start();

    const worker = active.has('worker')
      ? createWorker(configuration, database, {
          log,
          pool: pools.admin,
          isBesideGateway: active.has('gateway'),
        })
      : undefined;
    if (worker !== undefined) {
      stack.push('worker', () => worker.stop());
      await worker.start();
    }
    const others = new Notifier({ pool: pools.notify, channel: wakeChannel, log });
    stack.push('notifier', () => others.stop());
    const journal = new JournalWriter({
      pool: pools.ingest,
      log,
      answerDeadlineMs: configuration.http.answerDeadlineMs,
      named: !isPooledAddress(database.address),
      metrics: journalMetrics(metrics, () => journal.depth),
      onCommitted: () => {
        worker?.wake();
        others.wake();
      },
    });
    if (worker !== undefined && active.has('gateway')) {
      const pressure = watchPressure((isPressed) => worker.judge(isPressed));
      stack.push('pressure', () => pressure.stop());
    }
    const check = createHealthCheck({ pool: pools.admin, journal, worker });
    const readMetrics = () => metricsText(metrics, worker?.metrics === undefined ? [] : [worker.metrics]);

    const listen = listenWith(stack);
    const adminUrl = active.has('admin')
      ? await listen('admin', createHttpListener({ name: 'admin', limits: configuration.http, log }), {
          host: configuration.http.adminHost,
          port: configuration.http.adminPort,
          routes: (app) => {
            healthRoutes(app, check, { withReasons: true });
            metricsRoute(app, readMetrics);
          },
        })
      : undefined;
    const publicUrl = active.has('gateway')
      ? await startGateway(configuration, {
          pool: pools.ingest,
          clock,
          journal,
          log,
          metrics,
          check,
          listen,
          stack,
        })
      : undefined;
    // Only whoever can be asked: with split roles the others must not take its place.
    if (adminUrl !== undefined) {
      await rememberRunning(configuration.dataDir, { adminUrl, publicUrl }, log);
      stack.push('running file', () => forgetRunning(configuration.dataDir));
    }
    log.info({ event: 'server.started', roles: [...active], publicUrl, adminUrl }, 'posthorn is ready');
    return { configuration, publicUrl, adminUrl, madeSecrets, ended, stop: () => stack.stop() };
  } catch (error) {
    await stack.stop();
    throw isConnectionFailure(error) ? databaseUnreachable(error) : error;
  }
}

function createServerPools({ http }: Configuration, { address }: Database, log: Log) {
  const shared = { address, log };
  const limits = { statementTimeoutMs: http.answerDeadlineMs, queryTimeoutMs: http.answerDeadlineMs };
  return {
    admin: createPool({ ...shared, name: 'admin', most: 3 }),
    ingest: createPool({ ...shared, name: 'ingest', most: 3, ...limits }),
    notify: createPool({ ...shared, name: 'notify', most: 1 }),
  };
}

type Listen = (
  name: string,
  listener: HttpListener,
  options: { host: string; port: number; routes: (app: FastifyInstance) => void },
) => Promise<string>;

function listenWith(stack: StopStack): Listen {
  return async (name, listener, { host, port, routes }) => {
    routes(listener.app);
    stack.push(`${name} listener`, () => listener.close(graceMs));
    const chosen = await listener.listen(host, port);
    return `http://${host.includes(':') ? `[${host}]` : host}:${chosen}`;
  };
}

async function startGateway(
  configuration: Configuration,
  deps: Omit<GatewayDeps, 'sources' | 'group' | 'http' | 'keys' | 'encryption'> & {
    check: HealthCheck;
    listen: Listen;
    stack: StopStack;
    journal: JournalWriter;
  },
): Promise<string> {
  const { sources, inbound, http, folder, dataDir } = configuration;
  const keys = createSourceKeys(sources, { folder, dataDir, log: deps.log });
  deps.stack.push('secrets', () => keys.stop());
  deps.stack.push('journal', () => deps.journal.drain());
  const keyFile = secretPath(configuration.encryption.keyFile, { folder, dataDir });
  const isOwn = configuration.encryption.keyFile.startsWith('data:');
  const gateway = await createGateway({
    ...deps,
    sources,
    group: inbound,
    http,
    keys,
    encryption: createEncryption(keyFile, { mayMake: isOwn }),
  });
  deps.stack.push('gateway', () => gateway.stop());
  const url = await deps.listen('public', gateway, {
    host: http.host,
    port: http.port,
    routes: (app) => healthRoutes(app, deps.check, { withReasons: false }),
  });
  keys.start();
  return url;
}

function refuseSplitEmbedded(active: ReadonlySet<Role>, configuration: Configuration): void {
  if (active.size === roles.length || configuration.database.url !== undefined) return;
  throw new AppError(
    'USAGE',
    'Split roles need a database that several processes can reach: set DATABASE_URL, or leave out --roles.',
  );
}
