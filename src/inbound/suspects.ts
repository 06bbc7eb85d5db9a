import type { ClaimedRun, DueHandler } from './claim-store.ts';

/**
 * What kills its worker mostly does so soon. A suspect has the worker to itself for so long, and no longer: a handler may
 * take hours, and the others must go on.
 */
const aloneMs = 5_000;

type Running = { readonly run: ClaimedRun; readonly startedAt: number };

/** Its worker died at an earlier try. */
export function isSuspect(run: ClaimedRun): boolean {
  return run.deaths > 0;
}

/**
 * Which of what is due may start beside what runs, so that only the guilty one can kill its worker again and again.
 * Suspects run one at a time: they must not take each other along, and who was killed beside one is the next suspect.
 * `isSuspectNext`: one waits for the worker, and nothing else may start.
 */
export function mayStart(
  due: readonly DueHandler[],
  running: readonly Running[],
  now: number,
): { starts: readonly DueHandler[]; isSuspectNext: boolean } {
  const isYoung = ({ startedAt }: Running) => Math.abs(now - startedAt) < aloneMs;
  const suspects = running.filter(({ run }) => isSuspect(run));
  if (suspects.some(isYoung)) return { starts: [], isSuspectNext: false };
  const next = suspects.length > 0 ? undefined : due.find((one) => one.isSuspect);
  if (next === undefined) return { starts: due.filter((one) => !one.isSuspect), isSuspectNext: false };
  return { starts: running.some(isYoung) ? [] : [next], isSuspectNext: true };
}
