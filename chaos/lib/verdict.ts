import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { ChaosPostgres } from './cluster.ts';

/** What is left to do once nothing new comes and nothing is hurt any more. */
export type Open = { readonly events: number; readonly runs: number; readonly failed: number };

export async function findOpen(postgres: ChaosPostgres): Promise<Open> {
  const [row] = await postgres.query(`select
    (select count(*)::int from posthorn.events where status in ('accepted', 'processing')) as events,
    (select count(*)::int from posthorn.runs where status in ('waiting', 'running')) as runs,
    (select count(*)::int from posthorn.events where status = 'failed') as failed`);
  return row as Open;
}

/** Waits until everything is acknowledged and nothing is open; false when that does not come in time. */
export async function waitUntilDrained(
  postgres: ChaosPostgres,
  options: {
    readonly withinMs: number;
    readonly unacknowledged: () => number;
    readonly signal: AbortSignal;
    readonly tell: (open: Open) => void;
  },
): Promise<boolean> {
  const until = performance.now() + options.withinMs;
  for (;;) {
    const open = await findOpen(postgres).catch(() => undefined);
    if (open?.events === 0 && open.runs === 0 && options.unacknowledged() === 0) return true;
    if (performance.now() > until) return false;
    if (open !== undefined) options.tell(open);
    await wait(500, undefined, { signal: options.signal });
  }
}

/** What the ledger says about each event, as counts; the ids of what must not be, the first few of a kind. */
export type Verdict = {
  readonly rows: number;
  readonly runOnce: number;
  readonly repeatedPlain: number;
  readonly doubledEffects: number;
  readonly lost: number;
  readonly acknowledgedWithoutRow: number;
  readonly notSuccess: number;
  readonly stuckInProcessing: number;
  readonly examples: Record<string, string[]>;
};

const mostExamples = 5;

/**
 * Holds what was acknowledged against what is stored and what ran. An event that was never acknowledged may be stored
 * (its answer was lost): then its effect must be there exactly once too.
 */
export async function judge(
  postgres: ChaosPostgres,
  { acknowledged, plainFile }: { acknowledged: ReadonlySet<string>; plainFile: string },
): Promise<Verdict> {
  const rows = await postgres.query(
    'select event_id as id, status, open_runs from posthorn.events where event_id is not null',
  );
  const statuses = new Map(rows.map(({ id, status }) => [id as string, status as string]));
  const effects = countOf(
    (await postgres.query('select event_id as id from public.chaos_effects')).map(idOf),
  );
  const plain = countOf(readFileSync(plainFile, 'utf8').split('\n').slice(0, -1));
  const everyId = new Set([...acknowledged, ...statuses.keys(), ...effects.keys()]);
  const ids = [...everyId];
  const having = (holds: (id: string) => boolean) => ids.filter(holds);
  const found = {
    acknowledgedWithoutRow: having((id) => acknowledged.has(id) && !statuses.has(id)),
    lost: having((id) => !effects.has(id) || !plain.has(id)),
    doubledEffects: having((id) => (effects.get(id) ?? 0) > 1),
    notSuccess: having((id) => statuses.has(id) && statuses.get(id) !== 'success'),
    stuckInProcessing: having((id) => statuses.get(id) === 'processing'),
    effectWithoutRow: having((id) => effects.has(id) && !statuses.has(id)),
    openRunsLeft: rows.filter(({ open_runs }) => open_runs !== 0).map(idOf),
  };
  return {
    rows: rows.length,
    runOnce: having((id) => effects.get(id) === 1 && plain.has(id)).length,
    repeatedPlain: having((id) => (plain.get(id) ?? 0) > 1).length,
    doubledEffects: found.doubledEffects.length,
    lost: found.lost.length,
    acknowledgedWithoutRow: found.acknowledgedWithoutRow.length,
    notSuccess: found.notSuccess.length,
    stuckInProcessing: found.stuckInProcessing.length,
    examples: Object.fromEntries(
      Object.entries(found)
        .filter(([, bad]) => bad.length > 0)
        .map(([name, bad]) => [name, bad.slice(0, mostExamples)]),
    ),
  };
}

function idOf({ id }: Record<string, unknown>): string {
  return id as string;
}

function countOf(ids: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}
