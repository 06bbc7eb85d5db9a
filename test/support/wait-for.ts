import { setTimeout as wait } from 'node:timers/promises';

/** Polls until `look` gives something other than false or undefined; fails with `what` after `withinMs`. */
export async function waitFor<T>(
  what: string,
  look: () => T | Promise<T>,
  { withinMs = 15_000, everyMs = 20 } = {},
): Promise<Exclude<T, false | undefined>> {
  const until = performance.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (seen !== false && seen !== undefined) return seen as Exclude<T, false | undefined>;
    if (performance.now() > until) throw new Error(`waited ${withinMs} ms in vain for: ${what}`);
    await wait(everyMs);
  }
}
