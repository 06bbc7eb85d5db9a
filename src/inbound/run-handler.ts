import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '../platform/clock.ts';
import { type Pool, sqlState } from '../platform/db.ts';
import type { Log } from '../platform/log.ts';
import type { Scheme } from '../signing/index.ts';
import type { ClaimedRun } from './claim-store.ts';
import { eventOf, lazily } from './handler-event.ts';
import { HandlerTransaction } from './handler-transaction.ts';
import { type Handler, type HandlerContext, HandlerVerdict } from './handlers.ts';
import type { WebhookProcessingFailed } from './listeners.ts';
import { type Answer, endOf } from './run-end.ts';
import { finishRun, giveBackRun, markRefused, type NextClaim, type RunEnd } from './run-store.ts';

/** How long a handler that is cut may take to let go, before its run is given back. */
const letGoMs = 2_000;
/** A mark that the database does not take is tried again for about as long as the lease is believed. */
const markWithinMs = 25_000;
const markAgainMs = 250;

/** Why a run was cut off: it took too long, its lease is somebody else's, or the worker stops. */
export type CutReason = 'timed_out' | 'lost' | 'stopped';

/** A run that is over for good without being done. */
export type FailedRun = WebhookProcessingFailed;

/** What listeners are told of it; nothing else of the run is their affair. */
export function failedRun(
  { handler, source, eventId, eventType }: Omit<FailedRun, 'error'>,
  error: string,
): FailedRun {
  return { handler, source, eventId, eventType, error };
}

export type RunDeps = {
  readonly pool: Pool;
  readonly txPool: Pool;
  /** How a source's bodies are read; one that is not configured any more sends JSON. */
  readonly schemes?: ReadonlyMap<string, Scheme> | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** Called after the commit that made a run `failed` for good. */
  readonly onFailed: (run: FailedRun) => void;
  /** Asked when the run is about to end: how the next one is claimed into its slot; undefined = it is not. */
  readonly nextClaim: () => NextClaim | undefined;
};

/** `lost`: somebody else has the run, or will. `given_back`: it waits as if it had not been claimed. */
export type TryOutcome = RunEnd['outcome'] | 'lost' | 'given_back';

export type TryEnd = {
  readonly outcome: TryOutcome;
  /** The run that was claimed into the slot of this one. */
  readonly next?: ClaimedRun | undefined;
  /** The answer to a statement was lost: it may have claimed a run that nobody knows of. */
  readonly isDoubtful?: boolean;
};

/** One try of one run. `cut` ends it from outside. */
export type RunningTry = {
  readonly run: ClaimedRun;
  cut(reason: CutReason): void;
  /** How the try ended, once that is marked. */
  readonly ended: Promise<TryEnd>;
  /** Resolves when the handler's own promise is over, which a cut one may be much later. */
  readonly settled: Promise<void>;
};

/**
 * Runs a handler once: calls it, takes its answer, marks the end. Its own writes in `tx` and the mark are one commit
 * (IN-16); killed anywhere before, neither exists and the run is taken over.
 */
export function startTry(run: ClaimedRun, handler: Handler, deps: RunDeps): RunningTry {
  const tx = new HandlerTransaction(deps.txPool, { runId: run.id, timeoutMs: handler.timeoutMs });
  const abort = lazily(() => new AbortController());
  let reason: CutReason | undefined;
  let announceCut: (reason: CutReason) => void = () => {};
  const wasCut = new Promise<CutReason>((resolve) => {
    announceCut = resolve;
  });
  const cut = (why: CutReason) => {
    if (reason !== undefined) return;
    reason = why;
    abort().abort(new Error(cutText[why]));
    tx.destroy();
    announceCut(why);
  };
  const timer = setTimeout(() => cut('timed_out'), handler.timeoutMs);
  const answer = callHandler(run, handler, { tx, abort, deps });
  const ended = Promise.race([answer, wasCut]).then((result) => {
    clearTimeout(timer);
    return typeof result === 'string'
      ? endCut(run, result, { answer, deps })
      : endAnswered(run, result, tx, deps);
  });
  return { run, cut, ended, settled: answer.then(() => {}) };
}

const cutText: Record<CutReason, string> = {
  timed_out: 'the handler took longer than its time-out',
  lost: 'another worker has this run',
  stopped: 'the worker stops',
};

/** Never rejects: whatever the handler does is an answer. */
async function callHandler(
  run: ClaimedRun,
  handler: Handler,
  { tx, abort, deps }: { tx: HandlerTransaction; abort: () => AbortController; deps: RunDeps },
): Promise<Answer> {
  // A verdict that was made but neither returned nor thrown counts too: forgotten, it would mean "done".
  let made: HandlerVerdict | undefined;
  const onVerdict = (verdict: HandlerVerdict) => {
    made = verdict;
    return verdict;
  };
  try {
    const returned = await handler.run(eventOf(run, deps), contextOf(run, { tx, abort, onVerdict, deps }));
    const verdict = returned instanceof HandlerVerdict ? returned : made;
    return verdict === undefined ? {} : { verdict };
  } catch (thrown) {
    return thrown instanceof HandlerVerdict
      ? { verdict: thrown }
      : { error: thrown ?? new Error('the handler threw nothing') };
  }
}

function contextOf(
  run: ClaimedRun,
  {
    tx,
    abort,
    onVerdict,
    deps,
  }: {
    tx: HandlerTransaction;
    abort: () => AbortController;
    onVerdict: (made: HandlerVerdict) => HandlerVerdict;
    deps: RunDeps;
  },
): HandlerContext {
  const log = lazily(() =>
    deps.log.child({ handler: run.handler, source: run.source, eventId: run.eventId }),
  );
  return {
    tx: { query: (sql, params) => tx.query(sql, params) },
    get signal() {
      return abort().signal;
    },
    get log() {
      return log();
    },
    retryLater(afterMs) {
      if (!Number.isFinite(afterMs) || afterMs < 0)
        throw new Error('retryLater takes milliseconds, 0 or more');
      return onVerdict(new HandlerVerdict('retry_later', { afterMs }));
    },
    reject: (why) => onVerdict(new HandlerVerdict('rejected', { reason: String(why) })),
  };
}

async function endAnswered(
  run: ClaimedRun,
  answer: Answer,
  tx: HandlerTransaction,
  deps: RunDeps,
): Promise<TryEnd> {
  const end = endOf(run, answer, deps.clock.now());
  if (end.status !== 'done' || !tx.hasBegun) {
    await tx.rollback();
    return mark(run, end, deps);
  }
  try {
    const next = deps.nextClaim();
    const marked = await tx.commit((client) =>
      finishRun(client, run, end, { inTransactionOfRun: true, next }),
    );
    if (marked !== undefined) return { outcome: end.outcome, next: marked.next };
    return markFailed(run, new Error(failedInside), deps);
  } catch (error) {
    const state = sqlState(error);
    // Somebody else has the run (then this mark changes nothing either), or the handler ended `tx` itself.
    if (state === markRefused) return markFailed(run, new Error(endedByHandler), deps);
    if (state === '25P02') return markFailed(run, new Error(failedInside), deps);
    // The commit's answer may be lost. If it did commit, this mark finds the run done and changes nothing.
    return { ...(await markFailed(run, error, deps)), isDoubtful: true };
  }
}

function markFailed(run: ClaimedRun, error: unknown, deps: RunDeps): Promise<TryEnd> {
  return mark(run, endOf(run, { error }, deps.clock.now()), deps);
}

const endedByHandler =
  "the transaction was not the run's own any more: a handler must not end it; posthorn commits it with its mark";
const failedInside = 'a statement of the transaction failed and the handler went on; nothing was kept';

/** Marks the end outside of `tx`. A run that is then over for good is told to the listeners. */
async function mark(run: ClaimedRun, end: RunEnd, deps: RunDeps): Promise<TryEnd> {
  const { result, isDoubtful } = await patiently(
    () => finishRun(deps.pool, run, end, { next: deps.nextClaim() }),
    run,
    deps,
  );
  if (result === undefined) return { outcome: 'lost', isDoubtful };
  if (end.status === 'failed') deps.onFailed(failedRun(run, end.error ?? end.outcome));
  return { outcome: end.outcome, next: result.next, isDoubtful };
}

async function endCut(
  run: ClaimedRun,
  reason: CutReason,
  { answer, deps }: { answer: Promise<Answer>; deps: RunDeps },
): Promise<TryEnd> {
  if (reason === 'timed_out') {
    const verdict = new HandlerVerdict('timed_out', { reason: cutText.timed_out });
    // Its slot is not free: the handler has not let go.
    return mark(run, endOf(run, { verdict }, deps.clock.now()), { ...deps, nextClaim: () => undefined });
  }
  await Promise.race([answer, wait(letGoMs, undefined, { ref: false })]);
  // Lost may be only this worker's belief: if nobody has the run yet, it need not wait for the lease or count a death.
  const { result } = await patiently(() => giveBackRun(deps.pool, run), run, deps);
  return { outcome: result === true ? 'given_back' : 'lost' };
}

/** A database that is away for a moment must not cost the run its lease: that would count as the worker's death. */
async function patiently<T>(
  markOnce: () => Promise<T>,
  run: ClaimedRun,
  { log }: RunDeps,
): Promise<{ result: T | undefined; isDoubtful: boolean }> {
  const giveUpAt = performance.now() + markWithinMs;
  for (let attempt = 1; ; attempt++) {
    try {
      return { result: await markOnce(), isDoubtful: attempt > 1 };
    } catch (error) {
      if (performance.now() < giveUpAt) {
        await wait(markAgainMs);
        continue;
      }
      log.error(
        { event: 'run.mark_failed', run: run.id, reason: (error as Error).message },
        'the end of a run could not be marked; it is taken over when its lease ends',
      );
      return { result: undefined, isDoubtful: true };
    }
  }
}
