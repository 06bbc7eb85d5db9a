/** Milliseconds since 1970. Everything that asks for "now" is given one of these; tests give another. */
export type Clock = { now(): number };

export const systemClock: Clock = { now: () => Date.now() };

/** One moment by the two clocks of a process: the monotonic one stands still in a suspended machine, the other jumps. */
export type Moment = { readonly monotonicMs: number; readonly wallMs: number };

export function moment(): Moment {
  return { monotonicMs: performance.now(), wallMs: Date.now() };
}

/**
 * How much is left of a span that began at `from`, by whichever of the two clocks says less (OUT-6): what was promised
 * for a time must not be believed longer because one clock stood still or was set back. 0 when it is over.
 */
export function restOf(spanMs: number, from: Moment, at: Moment = moment()): number {
  const goneMs = Math.max(at.monotonicMs - from.monotonicMs, at.wallMs - from.wallMs);
  return Math.max(0, spanMs - goneMs);
}
