/**
 * PERF-1, PERF-2, PERF-11: verified and durable webhooks a second, their latency at half of that rate, and verifying
 * alone; each beside its baseline in the same run. Options: --rounds 5 --seconds 5 --size 1024 (or --size real), --results <folder>,
 * --polling (the load looks at its sockets instead of being woken by each answer).
 *
 * The machine is noisy, so every contender runs in every round, in turn, and the ratios are of medians.
 */
import { createHmac, createSecretKey } from 'node:crypto';
import { parseArgs } from 'node:util';
import { compileScheme, providers, sign, verify } from '../src/signing/index.ts';
import { makeBodies } from './lib/bodies.ts';
import { benchSecret, cpuSeconds, median, sendLoad, startContender } from './lib/contender.ts';
import type { LoadReport } from './lib/load.mjs';
import { printTable, writeResults } from './lib/results.ts';
import { type BenchPostgres, startPostgres, startRedis } from './lib/stores.ts';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '5' },
    size: { type: 'string', default: '1024' },
    connections: { type: 'string', default: '64' },
    polling: { type: 'boolean', default: false },
    results: { type: 'string' },
  },
});
const rounds = Number(options.rounds);
const seconds = Number(options.seconds);
const connections = Number(options.connections);
const load = {
  path: '/api/v1/webhooks/github',
  connections,
  seconds,
  warmupSeconds: Math.min(2, seconds),
  polling: options.polling,
  secret: benchSecret,
};

type Round = LoadReport & { serverCpu: number; storeCpu: number };
const measured = new Map<string, Round[]>();

const postgres = await startPostgres();
const redis = await startRedis();
if (redis === undefined) console.log('no redis-server on the PATH: the BullMQ row is left out');
const bodies = makeBodies(options.size).map((body) => body.toString('base64'));
for (let round = 1; round <= rounds; round++) {
  for (const name of [
    'no storage',
    'posthorn',
    'one insert each',
    ...(redis === undefined ? [] : ['BullMQ']),
  ]) {
    const result = await measure(name, postgres);
    measured.set(name, [...(measured.get(name) ?? []), result]);
    console.log(`round ${round}/${rounds}  ${name}: ${result.perSecond}/s`);
  }
}
const rates = new Map(
  [...measured].map(([name, results]) => [name, median(results.map(({ perSecond }) => perSecond))]),
);
const own = rates.get('posthorn') as number;
const half = await measureHalf(own / 2);
await redis?.stop();
await postgres.stop();

console.log(
  `\nPERF-1: ${options.size} bytes, ${connections} connections, medians of ${rounds} rounds of ${seconds} s`,
);
const table = [...measured].map(([name, results]) => rowOf(name, results));
printTable(table);
console.log(
  `\nPERF-2: at ${Math.round(own / 2)}/s  p50 ${half.p50Ms.toFixed(2)} ms  p99 ${half.p99Ms.toFixed(2)} ms`,
);
const alone = [1024, 8192, 25_000].flatMap(measureVerifying);
console.log('\nPERF-11: against the bare HMAC over the same bytes');
printTable(alone);
writeResults(
  `ingest${options.size === '1024' ? '' : `-${options.size}`}${options.polling ? '-polling' : ''}`,
  { ...options, github: 'sha256', fsync: 'on', redis: redis === undefined ? 'absent' : 'appendfsync always' },
  { perf1: table, perf2: half, perf11: alone },
  options.results,
);

async function measure(name: string, store: BenchPostgres): Promise<Round> {
  await store.reset();
  const kind = { 'no storage': 'none', posthorn: 'full', 'one insert each': 'single' }[name];
  const server =
    kind === undefined
      ? await startContender('bullmq.mjs', [], { redisPort: redis?.port })
      : await startContender('posthorn.mjs', [kind], { address: store.address });
  const storeCpu = () => (kind === undefined ? cpuSeconds(redis?.pid ?? 0) : store.cpuSeconds());
  const before = { server: cpuSeconds(server.pid), store: storeCpu() };
  const report = await sendLoad({ ...load, port: server.port, bodies });
  const total = load.seconds + load.warmupSeconds;
  const result = {
    ...report,
    serverCpu: (cpuSeconds(server.pid) - before.server) / total,
    storeCpu: (storeCpu() - before.store) / total,
  };
  await server.stop();
  if (report.failed > 0) throw new Error(`${name}: ${report.failed} requests were not answered 200`);
  return result;
}

async function measureHalf(rate: number): Promise<LoadReport> {
  await postgres.reset();
  const server = await startContender('posthorn.mjs', ['full'], { address: postgres.address });
  const report = await sendLoad({ ...load, port: server.port, bodies, rate, seconds: 2 * seconds });
  await server.stop();
  return report;
}

function rowOf(name: string, results: readonly Round[]): Record<string, string | number> {
  const of = (pick: (round: Round) => number) => median(results.map(pick));
  const rate = of(({ perSecond }) => perSecond);
  return {
    server: name,
    'requests/s': rate,
    'posthorn is': `${((100 * own) / rate).toFixed(0)} %`,
    'p50 ms': of(({ p50Ms }) => p50Ms).toFixed(1),
    'p99 ms': of(({ p99Ms }) => p99Ms).toFixed(1),
    'server CPU': of(({ serverCpu }) => serverCpu).toFixed(2),
    'store CPU': of(({ storeCpu }) => storeCpu).toFixed(2),
    'least to most/s': `${Math.min(...results.map((r) => r.perSecond))} to ${Math.max(...results.map((r) => r.perSecond))}`,
  };
}

/** Time of verify and sign against createHmac over the same bytes, in turn, the best of many short rounds. */
function measureVerifying(size: number): Record<string, string | number>[] {
  const body = makeBodies(String(size))[0] as Buffer;
  const scheme = compileScheme((providers.github as (typeof providers)[string]).scheme);
  const key = createSecretKey(Buffer.from(benchSecret));
  const signed = sign({ body }, scheme, { key: benchSecret, id: 'id' }).headers;
  const common = [
    'Host',
    'x',
    'User-Agent',
    'GitHub-Hookshot/044aadd',
    'Accept',
    '*/*',
    'Content-Type',
    'application/json',
  ];
  const rawHeaders = [...common, 'X-GitHub-Event', 'push', ...Object.entries(signed).flat()];
  const envelope = { method: 'POST', query: '', rawHeaders, body, receivedAt: 0 };
  const bare = () => createHmac('sha256', key).update(body).digest();
  const judged = () => {
    if (!verify(envelope, scheme, [key], { toleranceSeconds: 300 }).ok) throw new Error('it must verify');
  };
  const times = bestOf([bare, judged]);
  const [bareNs = 0, verifyNs = 0] = times;
  return [
    {
      bytes: size,
      'bare HMAC ns': bareNs.toFixed(0),
      'verify ns': verifyNs.toFixed(0),
      'of the bare rate': `${((100 * bareNs) / verifyNs).toFixed(0)} %`,
    },
  ];
}

function bestOf(works: readonly (() => void)[]): number[] {
  const best = works.map(() => Number.POSITIVE_INFINITY);
  const until = performance.now() + 1_500 * Math.min(1, seconds);
  while (performance.now() < until) {
    for (const [at, work] of works.entries()) {
      const started = process.hrtime.bigint();
      for (let n = 0; n < 500; n++) work();
      best[at] = Math.min(best[at] as number, Number(process.hrtime.bigint() - started) / 500);
    }
  }
  return best;
}
