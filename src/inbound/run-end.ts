import { type Backoff, backoffMs } from '../core/backoff.ts';
import { impossible } from '../core/outcome.ts';
import { cleanText } from '../core/text.ts';
import type { ClaimedRun } from './claim-store.ts';
import type { HandlerVerdict } from './handlers.ts';
import type { RunEnd } from './run-store.ts';

/** IN-15: 10 attempts, 10 s doubling to 10 min, spread by 20 %; deferrals end after a day. */
export const mostAttempts = 10;
const retryBackoff: Backoff = { firstMs: 10_000, mostMs: 600_000, jitter: 0.2 };
const mostDeferralMs = 24 * 3_600_000;
/** A handler that always asks for "at once" must not spin. */
const leastDeferralMs = 1_000;
const mostErrorLength = 4_000;
const mostReasonLength = 2_000;
const mostOutputLength = 64 * 1024;

/** What a handler answered: a verdict, an error that it threw, or nothing, which means done. */
export type Answer = { readonly verdict?: HandlerVerdict; readonly error?: unknown };

/** The rules of IN-15: what an answer means for the run. */
export function endOf(run: ClaimedRun, { verdict, error }: Answer, now: number): RunEnd {
  if (verdict === undefined) {
    return error === undefined ? doneEnd(now, null) : failedEnd(run, now, { error: errorText(error) });
  }
  const output = verdict.output === undefined ? null : cleanText(verdict.output, mostOutputLength);
  const reason = cleanText(verdict.reason, mostReasonLength);
  switch (verdict.kind) {
    case 'done':
      return doneEnd(now, output);
    case 'failed':
    case 'timed_out':
      return failedEnd(run, now, { outcome: verdict.kind, error: reason, output });
    case 'rejected':
      return { ...doneEnd(now, output), outcome: 'rejected', status: 'failed', error: reason };
    case 'retry_later':
      return deferredEnd(run, now, { afterMs: verdict.afterMs, reason, output });
    default:
      return impossible(verdict.kind);
  }
}

function doneEnd(now: number, output: string | null): RunEnd {
  return {
    outcome: 'done',
    status: 'done',
    endedAt: new Date(now),
    nextAttemptAt: new Date(now),
    countsAttempt: true,
    deferredSince: null,
    output,
    error: null,
  };
}

function failedEnd(
  run: ClaimedRun,
  now: number,
  {
    outcome = 'failed',
    error,
    output = null,
  }: { outcome?: 'failed' | 'timed_out'; error: string; output?: string | null },
): RunEnd {
  return {
    ...doneEnd(now, output),
    outcome,
    status: run.attempts >= mostAttempts ? 'failed' : 'waiting',
    nextAttemptAt: new Date(now + backoffMs(retryBackoff, run.attempts)),
    deferredSince: run.deferredSince,
    error,
  };
}

function deferredEnd(
  run: ClaimedRun,
  now: number,
  { afterMs, reason, output }: { afterMs: number; reason: string; output: string | null },
): RunEnd {
  const since = run.deferredSince ?? new Date(now);
  const isOver = now - since.getTime() >= mostDeferralMs;
  return {
    ...doneEnd(now, output),
    outcome: 'retry_later',
    status: isOver ? 'failed' : 'waiting',
    nextAttemptAt: new Date(now + Math.min(Math.max(afterMs, leastDeferralMs), mostDeferralMs)),
    countsAttempt: false,
    deferredSince: since,
    error: isOver ? ['deferred for 24 hours', reason].filter(Boolean).join(': ') : reason || null,
  };
}

/** Handlers throw anything; whatever it is, the run must end. */
function errorText(error: unknown): string {
  try {
    const shown = error instanceof Error && typeof error.stack === 'string' ? error.stack : String(error);
    return cleanText(shown, mostErrorLength);
  } catch {
    return 'the handler threw something that cannot be shown as text';
  }
}
