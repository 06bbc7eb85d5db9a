/**
 * The gateway under test, alone in its process. Argument `none`: the same server with the insert taken out.
 * The connection comes over IPC; the port goes back the same way.
 */
import { createSourceKeys, JournalWriter } from '../../src/inbound/index.ts';
import { createPool, type DatabaseAddress } from '../../src/platform/db.ts';
import { createLog } from '../../src/platform/log.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { configurationSchema } from '../../src/run/configuration.ts';
import { createGateway } from '../../src/run/gateway.ts';

process.once('message', async (order: { address: DatabaseAddress }) => {
  const log = createLog({ level: 'warn' });
  const configuration = configurationSchema.parse({
    sources: { github: { scheme: 'github', secretEnv: 'BENCH_SECRET' } },
  });
  const pool = createPool({ address: order.address, name: 'ingest', most: 2, log });
  const keys = createSourceKeys(configuration.sources, { folder: '.', dataDir: '.', log });
  const journal =
    process.argv[2] === 'none'
      ? { record: () => Promise.resolve('recorded' as const) }
      : new JournalWriter({ pool, log, answerDeadlineMs: 2_500, named: true });
  const gateway = await createGateway({
    sources: configuration.sources,
    group: configuration.inbound,
    http: configuration.http,
    keys,
    pool,
    journal,
    log,
    metrics: createMetrics(),
  });
  process.send?.({ port: await gateway.listen('127.0.0.1', 0) });
});
process.on('disconnect', () => process.exit(0));
