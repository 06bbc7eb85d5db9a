import { type Backoff, backoffMs } from '../core/backoff.ts';
import { cleanText } from '../core/text.ts';
import type { Clock } from '../platform/clock.ts';
import { type Pool, sqlState } from '../platform/db.ts';
import type { Log } from '../platform/log.ts';
import { findEventBody } from './event-store.ts';
import { HandlerTransaction } from './handler-transaction.ts';
import { type Handler, type HandlerContext, type HandlerEvent, HandlerVerdict } from './handlers.ts';
import { type ClaimedRun, finishRun, giveBackRun, type RunEnd } from './run-store.ts';

/** IN-15: 10 attempts, 10 s doubling to 10 min, spread by 20 %; deferrals end after a day. */
export const mostAttempts = 10;
const retryBackoff: Backoff = { firstMs: 10_000, mostMs: 600_000, jitter: 0.2 };
const mostDeferralMs = 24 * 3_600_000;
/** A handler that always asks for "at once" must not spin. */
const leastDeferralMs = 1_000;

/** Why a run was cut off: it took too long, its lease is somebody else's, or the worker stops. */
export type CutReason = 'timed_out' | 'lost' | 'stopped';

export type RunDeps = {
  readonly pool: Pool;
  readonly txPool: Pool;
  readonly clock: Clock;
  readonly log: Log;
};

/** One try of one run. `cut` ends it from outside; `done` resolves when its end is marked (or given up). */
export type RunningTry = {
  readonly run: ClaimedRun;
  cut(reason: CutReason): void;
  /** How the try ended, once that is marked. */
  readonly ended: Promise<RunEnd['outcome'] | 'lost' | 'given_back'>;
  /** Resolves when the handler's own promise is over, which a cut one may be much later. */
  readonly settled: Promise<void>;
};

/**
 * Runs a handler once: calls it, takes its answer, marks the end. Its own writes in `tx` and the mark are one commit
 * (IN-16); killed anywhere before, neither exists and the run is taken over.
 */
export function startTry(run: ClaimedRun, handler: Handler, deps: RunDeps): RunningTry {
  const tx = new HandlerTransaction(deps.txPool, { runId: run.id, timeoutMs: handler.timeoutMs });
  const abort = new AbortController();
  let reason: CutReason | undefined;
  let announceCut: (reason: CutReason) => void = () => {};
  const wasCut = new Promise<CutReason>((resolve) => {
    announceCut = resolve;
  });
  const cut = (why: CutReason) => {
    if (reason !== undefined) return;
    reason = why;
    abort.abort(new Error(cutText[why]));
    tx.destroy();
    announceCut(why);
  };
  const timer = setTimeout(() => cut('timed_out'), handler.timeoutMs);
  const answer = callHandler(run, handler, { tx, signal: abort.signal, deps });
  const ended = Promise.race([answer, wasCut]).then((result) => {
    clearTimeout(timer);
    return typeof result === 'string' ? endCut(run, result, deps) : endAnswered(run, result, tx, deps);
  });
  return { run, cut, ended, settled: answer.then(() => {}) };
}

const cutText: Record<CutReason, string> = {
  timed_out: 'the handler took longer than its time-out',
  lost: 'another worker has this run',
  stopped: 'the worker stops',
};

type Answer = { readonly verdict?: HandlerVerdict; readonly error?: unknown };

/** Never rejects: whatever the handler does is an answer. */
async function callHandler(
  run: ClaimedRun,
  handler: Handler,
  { tx, signal, deps }: { tx: HandlerTransaction; signal: AbortSignal; deps: RunDeps },
): Promise<Answer> {
  try {
    const returned = await handler.run(eventOf(run, deps.pool), contextOf(run, { tx, signal, deps }));
    return returned instanceof HandlerVerdict ? { verdict: returned } : {};
  } catch (thrown) {
    return thrown instanceof HandlerVerdict
      ? { verdict: thrown }
      : { error: thrown ?? new Error('the handler threw nothing') };
  }
}

function eventOf(run: ClaimedRun, pool: Pool): HandlerEvent {
  let stored: ReturnType<typeof load> | undefined;
  async function load() {
    const found = await findEventBody(pool, run.event);
    if (found === undefined) throw new Error('the body of this event is not kept any more');
    return found;
  }
  const once = () => {
    stored ??= load();
    return stored;
  };
  return {
    id: run.event,
    source: run.source,
    eventId: run.eventId,
    eventType: run.eventType,
    receivedAt: run.receivedAt,
    site: run.site,
    replay: run.replay,
    attempt: run.attempts,
    headers: async () => (await once()).headers,
    body: async () => (await once()).body,
    json: async () => JSON.parse((await once()).body.toString('utf8').replace(/^\uFEFF/, '')),
  };
}

function contextOf(
  run: ClaimedRun,
  { tx, signal, deps }: { tx: HandlerTransaction; signal: AbortSignal; deps: RunDeps },
): HandlerContext {
  return {
    tx: { query: (sql, params) => tx.query(sql, params) },
    signal,
    log: deps.log.child({ handler: run.handler, source: run.source, eventId: run.eventId }),
    retryLater(afterMs) {
      if (!Number.isFinite(afterMs) || afterMs < 0)
        throw new Error('retryLater takes milliseconds, 0 or more');
      const waitMs = Math.min(Math.max(afterMs, leastDeferralMs), mostDeferralMs);
      return new HandlerVerdict('retry_later', { afterMs: waitMs });
    },
    reject: (why) => new HandlerVerdict('rejected', { reason: String(why) }),
  };
}

async function endAnswered(run: ClaimedRun, answer: Answer, tx: HandlerTransaction, deps: RunDeps) {
  try {
    const end = endOf(run, answer, deps.clock.now());
    if (end.status !== 'done' || !tx.hasBegun) {
      await tx.rollback();
      return (await finishRun(deps.pool, run, end)) ? end.outcome : 'lost';
    }
    const isCommitted = await tx.commit((client) =>
      finishRun(client, run, end, { inTransactionOfRun: true }),
    );
    // Not marked: somebody else has the run (then this mark changes nothing either), or the handler ended `tx` itself.
    return isCommitted ? end.outcome : endFailed(run, new Error(endedByHandler), deps);
  } catch (error) {
    // The commit's answer may be lost. If it did commit, this mark finds the run done and changes nothing.
    return endFailed(run, sqlState(error) === '25P02' ? new Error(failedInside) : error, deps);
  }
}

const endedByHandler =
  "the transaction was not the run's own any more: a handler must not end it; posthorn commits it with its mark";
const failedInside = 'a statement of the transaction failed and the handler went on; nothing was kept';

async function endFailed(run: ClaimedRun, error: unknown, deps: RunDeps) {
  const end = endOf(run, { error }, deps.clock.now());
  return finishRun(deps.pool, run, end).then(
    (isMine) => (isMine ? end.outcome : ('lost' as const)),
    (failure: Error) => {
      deps.log.error(
        { event: 'run.mark_failed', run: run.id, reason: failure.message },
        'the end of a run could not be marked; it is taken over when its lease ends',
      );
      return 'lost' as const;
    },
  );
}

async function endCut(run: ClaimedRun, reason: CutReason, deps: RunDeps) {
  if (reason === 'lost') return 'lost';
  if (reason === 'timed_out') {
    const end = {
      ...endOf(run, { error: new Error(cutText.timed_out) }, deps.clock.now()),
      outcome: 'timed_out' as const,
    };
    return finishRun(deps.pool, run, end).then(
      (isMine) => (isMine ? end.outcome : ('lost' as const)),
      () => 'lost' as const,
    );
  }
  return giveBackRun(deps.pool, run).then(
    () => 'given_back' as const,
    () => 'lost' as const,
  );
}

/** The rules of IN-15: what an answer means for the run. */
function endOf(run: ClaimedRun, answer: Answer, now: number): RunEnd {
  const ended = {
    endedAt: new Date(now),
    nextAttemptAt: new Date(now),
    countsAttempt: true,
    deferredSince: null,
    error: null,
  };
  if (answer.verdict?.kind === 'rejected') {
    return {
      ...ended,
      outcome: 'rejected',
      status: 'failed',
      error: cleanText(answer.verdict.reason, 2_000),
    };
  }
  if (answer.verdict !== undefined) {
    const since = run.deferredSince ?? new Date(now);
    const isOver = now - since.getTime() >= mostDeferralMs;
    return {
      ...ended,
      outcome: 'retry_later',
      status: isOver ? 'failed' : 'waiting',
      nextAttemptAt: new Date(now + answer.verdict.afterMs),
      countsAttempt: false,
      deferredSince: since,
      error: isOver ? 'deferred for 24 hours' : null,
    };
  }
  if (answer.error === undefined) return { ...ended, outcome: 'done', status: 'done' };
  const isLast = run.attempts >= mostAttempts;
  return {
    ...ended,
    outcome: 'failed',
    status: isLast ? 'failed' : 'waiting',
    nextAttemptAt: new Date(now + backoffMs(retryBackoff, run.attempts)),
    deferredSince: run.deferredSince,
    error: errorText(answer.error),
  };
}

/** Handlers throw anything; whatever it is, the run must end. */
function errorText(error: unknown): string {
  try {
    const shown = error instanceof Error && typeof error.stack === 'string' ? error.stack : String(error);
    return cleanText(shown, 4_000);
  } catch {
    return 'the handler threw something that cannot be shown as text';
  }
}
