/**
 * The gateway under test, alone in its process, from dist/ as it ships. `process.argv[2]`:
 *   full     as it is
 *   none     the same server with the insert taken out: the upper bound
 *   single   one INSERT a request instead of group commit
 * The database's address comes over IPC; the port goes back the same way.
 */
import { createSourceKeys, JournalWriter } from '../../dist/inbound/index.js';
import { insertJournalRows } from '../../dist/inbound/journal-store.js';
import { systemClock } from '../../dist/platform/clock.js';
import { createPool } from '../../dist/platform/db.js';
import { createLog } from '../../dist/platform/log.js';
import { createMetrics } from '../../dist/platform/metrics.js';
import { configurationSchema } from '../../dist/run/configuration.js';
import { createGateway } from '../../dist/run/gateway.js';
import { journalMetrics } from '../../dist/run/inbound-metrics.js';

process.once('message', async ({ address }) => {
  const log = createLog({ level: 'warn' });
  const { sources, inbound, http } = configurationSchema.parse({
    sources: { github: { scheme: 'github', secretEnv: 'BENCH_SECRET' } },
  });
  const pool = createPool({ address, name: 'ingest', most: process.argv[2] === 'single' ? 20 : 3, log });
  const keys = createSourceKeys(sources, { folder: '.', dataDir: '.', log });
  const metrics = createMetrics();
  const journal = createJournal(process.argv[2], { pool, log, metrics });
  const gateway = await createGateway({
    sources,
    group: inbound,
    http,
    keys,
    pool,
    clock: systemClock,
    journal,
    log,
    metrics,
  });
  process.send({ port: await gateway.listen('127.0.0.1', 0) });
});
process.on('disconnect', () => process.exit(0));

function createJournal(kind, { pool, log, metrics }) {
  if (kind === 'none') return { record: async () => 'recorded' };
  if (kind === 'single') {
    return {
      record: async (row) =>
        (await insertJournalRows(pool, [row], { named: true })).size === 0 ? 'recorded' : 'duplicate',
    };
  }
  const writer = new JournalWriter({
    pool,
    log,
    answerDeadlineMs: 2_500,
    named: true,
    metrics: journalMetrics(metrics, () => writer.depth),
  });
  return writer;
}
