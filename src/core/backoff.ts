/** A doubling wait: `firstMs`, then twice as long each time, at most `mostMs`, spread by +-`jitter` (0.2 = 20 %). */
export type Backoff = { readonly firstMs: number; readonly mostMs: number; readonly jitter: number };

/**
 * How long to wait after the `failures`-th failure in a row (1 = the first), in milliseconds.
 * `random` gives numbers from 0 up to 1.
 */
export function backoffMs(backoff: Backoff, failures: number, random: () => number = Math.random): number {
  const doubled = Math.min(backoff.mostMs, backoff.firstMs * 2 ** Math.min(failures - 1, 30));
  return Math.round(doubled * (1 + backoff.jitter * (2 * random() - 1)));
}
