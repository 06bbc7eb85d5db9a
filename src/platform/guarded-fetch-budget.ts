import { setMaxListeners } from 'node:events';

/** The time that one request may take in all, and the signals that end it before. */
export type Budget = {
  /** Fires at the deadline, or with one of the signals. */
  readonly signal: AbortSignal;
  restMs(): number;
  /** Why `signal` fired. */
  reason(): 'timeout' | 'aborted';
  /** Gives back the timer and the listeners. */
  end(): void;
};

/**
 * One deadline for everything (EGR-9): a limit for each step or chunk would be renewed by whoever sends a byte in time.
 * The listeners are taken off by hand, as `AbortSignal.any` keeps one for each request on a signal that lives long.
 */
export function startBudget(deadlineMs: number, signals: readonly (AbortSignal | undefined)[]): Budget {
  const controller = new AbortController();
  const endsAt = performance.now() + deadlineMs;
  let isOver = false;
  const stop = () => controller.abort(new Error('the request was aborted'));
  const timer = setTimeout(() => {
    isOver = !controller.signal.aborted;
    controller.abort(new Error('the deadline has passed'));
  }, deadlineMs);
  for (const signal of signals) {
    if (signal === undefined) continue;
    // Many requests at once may share a signal; Node takes more than ten listeners for a leak.
    setMaxListeners(0, signal);
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
  }
  return {
    signal: controller.signal,
    restMs: () => Math.max(0, endsAt - performance.now()),
    reason: () => (isOver ? 'timeout' : 'aborted'),
    end: () => {
      clearTimeout(timer);
      for (const signal of signals) signal?.removeEventListener('abort', stop);
    },
  };
}
