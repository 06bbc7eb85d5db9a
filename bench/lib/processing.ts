import { setTimeout as wait } from 'node:timers/promises';
import { registerSources } from '../../src/inbound/index.ts';
import { insertJournalRows } from '../../src/inbound/journal-store.ts';
import { createPool, type Pool } from '../../src/platform/db.ts';
import { createLog } from '../../src/platform/log.ts';
import { journalRow } from '../../test/support/journal-row.ts';
import { makeBodies } from './bodies.ts';
import { benchSecret, median, sendLoad } from './contender.ts';
import { install, startStack } from './stack.ts';
import { type BenchPostgres, startPostgres } from './stores.ts';

type Row = Record<string, string | number>;

export const effectHandler = `export default (on) => {
  on('github', '*', (event, { tx }) => tx.query('insert into public.effects (event) values ($1)', [event.id]));
};`;

export const createEffects = (pool: Pool) =>
  pool.query('drop table if exists public.effects; create table public.effects (event bigint not null)');

/** How fast a backlog is processed, beside ten bare connections that commit the same insert each. */
export async function measureDrain({ rounds, backlog }: { rounds: number; backlog: number }): Promise<Row[]> {
  const postgres = await startPostgres();
  const installation = install(effectHandler);
  const rates: { bare: number[]; drain: number[] } = { bare: [], drain: [] };
  for (let round = 1; round <= rounds; round++) {
    await postgres.reset();
    await createEffects(postgres.pool);
    rates.bare.push(await bareCommits(postgres, backlog));
    await createEffects(postgres.pool);
    await journalBacklog(postgres.pool, backlog);
    rates.drain.push(await drain(postgres, installation, backlog));
    console.log(`round ${round}/${rounds}  bare: ${rates.bare.at(-1)}/s  drain: ${rates.drain.at(-1)}/s`);
  }
  installation.remove();
  await postgres.stop();
  const [bare, own] = [median(rates.bare), median(rates.drain)];
  const span = (values: number[]) => `${Math.min(...values)} to ${Math.max(...values)}`;
  return [
    {
      what: '10 bare connections, one insert a commit',
      'events/s': bare,
      'least to most/s': span(rates.bare),
      share: '100 %',
    },
    {
      what: `posthorn, ${backlog} waiting events`,
      'events/s': own,
      'least to most/s': span(rates.drain),
      share: `${Math.round((100 * own) / bare)} %`,
    },
  ];
}

async function bareCommits(postgres: BenchPostgres, count: number): Promise<number> {
  const pool = createPool({
    address: postgres.address,
    name: 'bare',
    most: 10,
    log: createLog({ level: 'error' }),
  });
  let left = count;
  const started = performance.now();
  const one = async () => {
    while (left-- > 0)
      await pool.query({
        name: 'bare',
        text: 'insert into public.effects (event) values ($1)',
        values: [left],
      });
  };
  await Promise.all(Array.from({ length: 10 }, one));
  const rate = Math.round((1000 * count) / (performance.now() - started));
  await pool.end();
  return rate;
}

/** From the first event that is done to the last, so that the start of the process does not count. */
async function drain(
  postgres: BenchPostgres,
  installation: ReturnType<typeof install>,
  count: number,
): Promise<number> {
  const stack = await startStack(installation, { url: postgres.url, roles: ['worker'] });
  const doneAt = async () => {
    const { rows } = await postgres.pool.query(
      `select count(*)::int as n, extract(epoch from max(processed_at) - min(processed_at))::float8 as seconds
       from posthorn.events where status = 'success'`,
    );
    return rows[0] as { n: number; seconds: number };
  };
  let done = await doneAt();
  for (let look = 0; done.n < count && look < 1_200; look++) {
    await wait(100);
    done = await doneAt();
  }
  const { rows } = await postgres.pool.query('select count(*)::int as n from public.effects');
  await stack.stop();
  if (rows[0].n !== count) throw new Error(`${rows[0].n} effects of ${count} events`);
  return Math.round(count / done.seconds);
}

async function journalBacklog(pool: Pool, count: number): Promise<void> {
  const source = (await registerSources(pool, ['github'])).get('github') as number;
  const body = makeBodies('1024')[0] as Buffer;
  for (let made = 0; made < count; made += 500) {
    const rows = Array.from({ length: Math.min(500, count - made) }, () => journalRow(source, { body }));
    await insertJournalRows(pool, rows, { named: false });
  }
}

/** The age of the oldest event that is not done, looked at four times a second while webhooks come in at a rate. */
export async function measureLag({ rate, minutes }: { rate: number; minutes: number }): Promise<Row[]> {
  const postgres = await startPostgres();
  await createEffects(postgres.pool);
  const installation = install(effectHandler);
  const stack = await startStack(installation, { url: postgres.url, roles: ['gateway', 'worker'] });
  const lags: number[] = [];
  const load = sendLoad({ ...loadOrder, port: stack.port, rate, seconds: 60 * minutes });
  const looking = watch(async () => {
    lags.push(await lagMs(postgres.pool));
  }, 250);
  const report = await load;
  looking.stop();
  const drainedMs = await drainTime(postgres.pool);
  await stack.stop();
  installation.remove();
  await postgres.stop();
  const sorted = [...lags].sort((a, b) => a - b);
  return [
    {
      'asked/s': rate,
      'ingested/s': report.perSecond,
      failed: report.failed,
      minutes,
      'lag p50 ms': Math.round(sorted[Math.floor(sorted.length / 2)] ?? 0),
      'lag most ms': Math.round(sorted.at(-1) ?? 0),
      'drained after ms': Math.round(drainedMs),
    },
  ];
}

/** Memory of server and worker, each minute, while everything that comes in at full rate is processed too. */
export async function measureMemory({ minutes }: { minutes: number }): Promise<Row[]> {
  const postgres = await startPostgres();
  await createEffects(postgres.pool);
  const installation = install(effectHandler);
  const stack = await startStack(installation, { url: postgres.url, roles: ['gateway', 'worker'] });
  const samples: number[][] = [];
  const everyMs = Math.min(60_000, (60_000 * minutes) / 6);
  const looking = watch(async () => void samples.push(stack.memoryMb()), everyMs);
  const report = await sendLoad({ ...loadOrder, port: stack.port, seconds: 60 * minutes });
  looking.stop();
  await stack.stop();
  installation.remove();
  await postgres.stop();
  return samples.map(([server = 0, worker = 0], at) => ({
    'after s': Math.round(((at + 1) * everyMs) / 1000),
    'server MB': server,
    'worker MB': worker,
    'ingest/s': report.perSecond,
  }));
}

export const loadOrder = {
  path: '/api/v1/webhooks/github',
  connections: 64,
  warmupSeconds: 1,
  secret: benchSecret,
  bodies: makeBodies('1024').map((body) => body.toString('base64')),
};

export async function lagMs(pool: Pool): Promise<number> {
  const { rows } = await pool.query(
    `select coalesce(extract(epoch from clock_timestamp() - min(created_at)) * 1000, 0)::float8 as ms
     from posthorn.events where status in ('accepted', 'processing')`,
  );
  return rows[0].ms as number;
}

/** How long it takes until nothing is open, at most two minutes. */
export async function drainTime(pool: Pool): Promise<number> {
  const started = performance.now();
  while ((await lagMs(pool)) > 0 && performance.now() - started < 120_000) await wait(50);
  return performance.now() - started;
}

function watch(look: () => Promise<void>, everyMs: number): { stop(): void } {
  let isLooking = false;
  const timer = setInterval(async () => {
    if (isLooking) return;
    isLooking = true;
    await look().finally(() => {
      isLooking = false;
    });
  }, everyMs);
  return { stop: () => clearInterval(timer) };
}
