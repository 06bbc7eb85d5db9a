import { median, sendLoad } from './contender.ts';
import type { LoadReport } from './load.mjs';
import { createEffects, effectHandler, loadOrder } from './processing.ts';
import { type Installation, install, startStack } from './stack.ts';
import { type BenchPostgres, startPostgres } from './stores.ts';

type Row = Record<string, string | number>;

/** Woken for every batch, and never one event for them. */
const otherHandler = `export default (on) => { on('github', 'nothing.like.it', () => {}); };`;

/**
 * Ingest with workers that find nothing due against ingest alone, also on a disk that takes 3 ms to flush; then at half
 * of the full rate with workers that process the same events; then both at full rate, which share the cores.
 */
export async function measureCost({ rounds, seconds }: { rounds: number; seconds: number }): Promise<Row[]> {
  const installations = { other: install(otherHandler), effect: install(effectHandler) };
  const rows: Row[] = [];
  let full = 0;
  for (const [disk, settings] of [
    ['this disk', {}],
    ['commit_delay 3 ms', { commit_delay: '3000', commit_siblings: '0' }],
  ] as const) {
    const postgres = await startPostgres(settings);
    const alone: LoadReport[] = [];
    const idle: LoadReport[] = [];
    for (let round = 1; round <= rounds; round++) {
      alone.push(await ingest(postgres, installations.other, { seconds, worker: false }));
      idle.push(await ingest(postgres, installations.other, { seconds, worker: true }));
      console.log(
        `${disk}, round ${round}/${rounds}  alone: ${alone.at(-1)?.perSecond}/s  beside idle workers: ${idle.at(-1)?.perSecond}/s`,
      );
    }
    rows.push(...compared(`full rate, ${disk}`, alone, ['beside workers with nothing due', idle]));
    if (disk === 'this disk') {
      full = median(alone.map(({ perSecond }) => perSecond));
      rows.push(...(await atHalf(postgres, installations.effect, { rounds, seconds, rate: full / 2 })));
      rows.push(...(await atFull(postgres, installations.effect, { rounds, seconds })));
    }
    await postgres.stop();
  }
  for (const installation of Object.values(installations)) installation.remove();
  return rows;
}

async function atHalf(
  postgres: BenchPostgres,
  installation: Installation,
  { rounds, seconds, rate }: { rounds: number; seconds: number; rate: number },
): Promise<Row[]> {
  const [alone, busy]: [LoadReport[], LoadReport[]] = [[], []];
  // What came too late while everything was cold is still being caught up with for seconds: it counts from when it was due.
  const paced = { seconds, rate, warmupSeconds: 8 };
  for (let round = 1; round <= rounds; round++) {
    alone.push(await ingest(postgres, installation, { ...paced, worker: false }));
    busy.push(await ingest(postgres, installation, { ...paced, worker: true }));
    const p99 = (reports: readonly LoadReport[]) => `p99 ${reports.at(-1)?.p99Ms.toFixed(1)} ms`;
    console.log(`half rate, round ${round}/${rounds}  alone: ${p99(alone)}  beside processing: ${p99(busy)}`);
  }
  return compared(`half rate (${Math.round(rate)}/s asked)`, alone, [
    'beside processing of the same events',
    busy,
  ]);
}

async function atFull(
  postgres: BenchPostgres,
  installation: Installation,
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<Row[]> {
  const reports: (LoadReport & { processed: number })[] = [];
  for (let round = 1; round <= rounds; round++)
    reports.push(await ingest(postgres, installation, { seconds, worker: true }));
  return [
    {
      what: 'full rate beside processing of the same events',
      'ingest/s': median(reports.map(({ perSecond }) => perSecond)),
      'p50 ms': median(reports.map(({ p50Ms }) => p50Ms)).toFixed(1),
      'p99 ms': median(reports.map(({ p99Ms }) => p99Ms)).toFixed(1),
      'processed/s meanwhile': Math.round(median(reports.map(({ processed }) => processed))),
    },
  ];
}

async function ingest(
  postgres: BenchPostgres,
  installation: Installation,
  {
    seconds,
    worker,
    rate,
    warmupSeconds = loadOrder.warmupSeconds,
  }: { seconds: number; worker: boolean; rate?: number; warmupSeconds?: number },
): Promise<LoadReport & { processed: number }> {
  await postgres.reset();
  await createEffects(postgres.pool);
  const roles = worker ? (['gateway', 'worker'] as const) : (['gateway'] as const);
  const stack = await startStack(installation, { url: postgres.url, roles });
  const order = {
    ...loadOrder,
    port: stack.port,
    seconds,
    warmupSeconds,
    ...(rate === undefined ? {} : { rate }),
  };
  const report = await sendLoad(order);
  const { rows } = await postgres.pool.query('select count(*)::int as n from public.effects');
  await stack.stop();
  if (report.failed > 0) throw new Error(`${report.failed} requests were not answered 200`);
  return { ...report, processed: rows[0].n / (seconds + order.warmupSeconds) };
}

function compared(
  what: string,
  base: readonly LoadReport[],
  [other, reports]: [string, readonly LoadReport[]],
): Row[] {
  const line = (name: string, of: readonly LoadReport[]): Row => {
    const value = (pick: (report: LoadReport) => number) => median(of.map(pick));
    return {
      what: name,
      'ingest/s': value(({ perSecond }) => perSecond),
      'p50 ms': value(({ p50Ms }) => p50Ms).toFixed(1),
      'p99 ms': value(({ p99Ms }) => p99Ms).toFixed(1),
      share: `${Math.round((100 * value(({ perSecond }) => perSecond)) / median(base.map(({ perSecond }) => perSecond)))} %`,
      'p99 is': `${(value(({ p99Ms }) => p99Ms) / median(base.map(({ p99Ms }) => p99Ms))).toFixed(2)} x`,
    };
  };
  return [line(`${what}, gateway alone`, base), line(`  ${other}`, reports)];
}
