/**
 * The fault test (SAFE-1, SAFE-2, SAFE-5, SAFE-6): real servers of the built program over a real PostgreSQL, a provider
 * that sends signed webhooks, and faults at random from a seed. Then everything is left in peace until it has drained,
 * and the ledger is held against the database. Options: see `npm run chaos -- --help`.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { writeResults } from '../bench/lib/results.ts';
import { ChaosPostgres } from './lib/cluster.ts';
import { Faults } from './lib/faults.ts';
import { Fleet, secret } from './lib/fleet.ts';
import { currentPlace, endSignals, enterPlace, type Place } from './lib/place.ts';
import { Provider } from './lib/provider.ts';
import { Random } from './lib/random.ts';
import { isGood, printReport, type Report } from './lib/report.ts';
import type { FaultKind } from './lib/schedule.ts';
import { judge, waitUntilDrained } from './lib/verdict.ts';

const { values: flags } = parseArgs({
  options: {
    seed: { type: 'string' },
    minutes: { type: 'string', default: '5' },
    rate: { type: 'string', default: '150' },
    'drain-seconds': { type: 'string', default: '300' },
    clocks: { type: 'string', default: 'gateway,worker' },
    json: { type: 'boolean', default: false },
    results: { type: 'string' },
  },
});
const minutes = Number(flags.minutes);
const perSecond = Number(flags.rate);
const isBrief = minutes <= 1;

const place = currentPlace(process.env);
if (place === undefined) {
  // About 3 KB an event in tables, indexes and WAL.
  const diskMb = Math.round(Math.max(700, 300 + (minutes * 60 * perSecond * 3) / 1024));
  process.exit(await enterPlace(diskMb));
}
const seed = flags.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(flags.seed);
console.log(`seed ${seed}: ${minutes} minutes of faults at ${perSecond} events a second`);
const interrupted = new AbortController();
for (const name of [...endSignals, 'disconnect'])
  process.on(name, () => interrupted.abort(new Error('interrupted')));
// Whatever goes wrong in here, no process may be left behind.
process.on('uncaughtException', (error) => interrupted.abort(error));
const exitCode = await runIn(place).catch((error: unknown) => {
  console.error(error);
  return 1;
});
process.exit(exitCode);

/** Builds everything up, lets it run, and takes it down again, whatever happened; gives the exit code. */
async function runIn(place: Place): Promise<number> {
  const random = new Random(seed);
  const started = performance.now();
  const tell = (line: string) =>
    console.log(`${((performance.now() - started) / 1_000).toFixed(1).padStart(7)} s  ${line}`);
  const postgres = await ChaosPostgres.create({
    disk: place.disk,
    logFile: join(place.folder, 'postgres.log'),
  });
  let fleet: Fleet | undefined;
  let provider: Provider | undefined;
  try {
    await postgres.query('create table public.chaos_effects (event_id text not null)');
    const forMs = minutes * 60_000;
    fleet = new Fleet({
      folder: place.folder,
      databaseUrl: postgres.url,
      random,
      clocks: (['gateway', 'worker'] as const).filter((role) => flags.clocks.split(',').includes(role)),
      clocksUntil: Date.now() + forMs,
    });
    await fleet.startAtOnce(60_000);
    tell('two gateways and two workers are up; they started and migrated at the same instant');
    const { ports } = fleet;
    provider = new Provider({
      perSecond,
      secret,
      prefix: `chaos-${seed}`,
      ports: ports.bind(fleet),
      random: random.fork('provider'),
      repeatShare: 0.03,
    });
    const report = await runThrough({ place, postgres, fleet, provider, random, forMs, tell });
    printReport(report);
    if (flags.json || flags.results !== undefined) {
      const { seed: _seed, ...results } = report;
      const folder = flags.results ?? join(import.meta.dirname, 'results');
      writeResults(`chaos-${minutes}-minutes`, { ...flags, seed }, results, folder);
    }
    return isGood(report) ? 0 : 1;
  } catch (error) {
    console.error(interrupted.signal.aborted ? interrupted.signal.reason : error);
    return 1;
  } finally {
    provider?.close();
    await fleet?.stop({ isHurried: true });
    await postgres.end();
  }
}

type Parts = {
  place: Place;
  postgres: ChaosPostgres;
  fleet: Fleet;
  provider: Provider;
  random: Random;
  forMs: number;
  tell: (line: string) => void;
};

/** The two phases, then the judgement on what the servers left behind when they had stopped. */
async function runThrough(parts: Parts): Promise<Report> {
  const { place, postgres, fleet, provider } = parts;
  const leftOut = new Set<FaultKind>(place.isDiskOwn ? [] : ['disk full']);
  const faults = await hurt(parts, leftOut);
  const rest = await comeToRest(parts);
  provider.close();
  await fleet.stop();
  const { acknowledged } = provider;
  const { jumps, shiftedStarts, ...servers } = fleet.summary(faults.get('worker child killed') ?? 0);
  return {
    seed,
    minutes,
    sent: {
      events: provider.events,
      requests: provider.requests,
      sentAgainOnPurpose: provider.repeats,
      acknowledged: acknowledged.size,
    },
    answers: Object.fromEntries(provider.answers),
    verdict: await judge(postgres, { acknowledged, plainFile: fleet.plainFile }),
    ...rest,
    faults: Object.fromEntries(faults),
    startedAtOnce: fleet.servers.length,
    clock: { jumps, starts: shiftedStarts },
    servers,
    postgresFailedStarts: postgres.failedStarts,
    leftOut: [...leftOut].map((kind) => `${kind} (no tmpfs can be mounted here)`),
  };
}

/** Webhooks and faults, for the time of the run; gives how often each fault was carried out. */
async function hurt(
  { place, postgres, fleet, provider, random, forMs, tell }: Parts,
  leftOut: ReadonlySet<FaultKind>,
): Promise<ReadonlyMap<FaultKind, number>> {
  const { signal } = interrupted;
  const options = { random, forMs, isBrief, leftOut, disk: place.disk, signal, tell };
  const faults = new Faults({ fleet, postgres }, options);
  const tellCounts = () =>
    tell(`sent ${provider.events}  acknowledged ${provider.acknowledged.size}  faults ${faults.total}`);
  const progress = setInterval(tellCounts, 5_000);
  provider.start();
  await faults.run().finally(() => clearInterval(progress));
  tellCounts();
  return faults.counts;
}

/** Nothing new is sent and nothing is hurt: everything must be acknowledged and run, and every server be up again. */
async function comeToRest({ postgres, fleet, provider, tell }: Parts) {
  provider.stopNew();
  tell('no more faults; waiting until everything has run');
  const startedAt = performance.now();
  let toldAt = startedAt;
  const isEmpty = await waitUntilDrained(postgres, {
    withinMs: Number(flags['drain-seconds']) * 1_000,
    unacknowledged: () => provider.unacknowledged,
    signal: interrupted.signal,
    tell: ({ events, runs, failed }) => {
      if (performance.now() - toldAt < 5_000) return;
      toldAt = performance.now();
      tell(
        `unacknowledged ${provider.unacknowledged}  open events ${events}  runs ${runs}  failed ${failed}`,
      );
    },
  });
  const isDrained = (await fleet.untilReady(60_000)) && isEmpty;
  return { isDrained, drainedAfterSeconds: Math.round((performance.now() - startedAt) / 1_000) };
}
