import type { Log } from '../platform/log.ts';
import type { Handler } from './handlers.ts';
import type { RunningTry } from './run-handler.ts';

/**
 * How many tries of each handler hold a slot here. A slot is free when the handler's promise is over, which for one that
 * was cut may be later than its run; or after twice its time-out: then it counts as leaked.
 */
export class Slots {
  readonly #taken = new Map<string, number>();
  readonly #log: Log;
  readonly #onFree: () => void;
  readonly #onLeaked: (handler: string) => void;

  constructor(deps: { log: Log; onFree: () => void; onLeaked: (handler: string) => void }) {
    this.#log = deps.log;
    this.#onFree = deps.onFree;
    this.#onLeaked = deps.onLeaked;
  }

  taken(handler: string): number {
    return this.#taken.get(handler) ?? 0;
  }

  take(attempt: RunningTry, { name, timeoutMs }: Handler): void {
    this.#taken.set(name, this.taken(name) + 1);
    let isFree = false;
    const free = (isLeaked: boolean) => {
      if (isFree) return;
      isFree = true;
      clearTimeout(leak);
      this.#taken.set(name, this.taken(name) - 1);
      if (isLeaked) {
        this.#log.error(
          { event: 'run.leaked', run: attempt.run.id, handler: name },
          'a handler ignores its signal long after its time-out',
        );
        this.#onLeaked(name);
      }
      this.#onFree();
    };
    const leak = setTimeout(() => free(true), 2 * timeoutMs);
    leak.unref();
    void Promise.all([attempt.settled, attempt.ended]).then(() => free(false));
  }
}
