/**
 * PERF-3, PERF-8: a backlog through a `tx` handler, the lag beside ingest, wake-up of an idle worker, what workers cost
 * ingest, and memory under load. Options: --rounds 3 --seconds 5 --backlog 20000 --rate 1500 --minutes 1 (lag and memory)
 * --only drain,lag,wake,cost,memory --results <folder>. With --only a result is written to that folder or not at all.
 *
 * Every figure stands beside its baseline of the same run; servers are `posthorn serve` as it ships.
 */
import { parseArgs } from 'node:util';
import { measureCost } from './lib/ingest-cost.ts';
import { measureDrain, measureLag, measureMemory } from './lib/processing.ts';
import { printTable, writeResults } from './lib/results.ts';
import { measureWake } from './lib/wake-up.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
    backlog: { type: 'string', default: '20000' },
    rate: { type: 'string', default: '1500' },
    minutes: { type: 'string', default: '1' },
    only: { type: 'string' },
    results: { type: 'string' },
  },
});
const { only, results: folder, ...numbers } = values;
const options = Object.fromEntries(
  Object.entries(numbers).map(([name, value]) => [name, Number(value)]),
) as Record<keyof typeof numbers, number>;
const parts = ['drain', 'lag', 'wake', 'cost', 'memory'];
const wanted = only?.split(',') ?? parts;
const unknown = wanted.filter((name) => !parts.includes(name));
if (unknown.length > 0) {
  console.error(`--only does not know ${unknown.join(', ')}; the parts are ${parts.join(', ')}.`);
  process.exit(2);
}
const results: Record<string, Record<string, string | number>[]> = {};

await part('drain', 'PERF-3: a backlog drains through a tx handler that inserts a row', () =>
  measureDrain(options),
);
await part('lag', `PERF-3: lag beside ingest of ${options.rate}/s`, () => measureLag(options));
await part('wake', 'PERF-3: from the sender’s 200 to the start of the handler, idle', () =>
  measureWake(options),
);
await part('cost', 'PERF-3: what workers cost ingest', () => measureCost(options));
await part('memory', 'PERF-8: resident memory under full ingest and processing', () =>
  measureMemory(options),
);
// Some parts alone must not take the place of a whole result.
if (only === undefined || folder !== undefined)
  writeResults('process', { ...options, only: wanted.join(), fsync: 'on' }, results, folder);

async function part(
  name: string,
  title: string,
  measure: () => Promise<Record<string, string | number>[]>,
): Promise<void> {
  if (!wanted.includes(name)) return;
  console.log(`\n${title}`);
  const rows = await measure();
  printTable(rows);
  results[name] = rows;
}
