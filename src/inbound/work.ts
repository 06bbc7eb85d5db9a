import { patternToRegex } from '../core/pattern.ts';
import type { Clock } from '../platform/clock.ts';
import type { Pool } from '../platform/db.ts';
import type { Log } from '../platform/log.ts';
import type { Handler } from './handlers.ts';
import { mostAttempts, type RunningTry, startTry } from './run-handler.ts';
import {
  type ClaimedRun,
  claimRuns,
  claimSuspect,
  findSettledId,
  hasSuspect,
  planRuns,
  renewLeases,
  type Subscription,
  takeOverRuns,
} from './run-store.ts';

const leaseMs = 30_000;
/** A lease is believed for less than it lasts, counted from before its renewal was sent. */
const believedMs = 27_000;
const renewEveryMs = 10_000;
const pollEveryMs = 1_000;
const planLimit = 500;
/** From time to time everything accepted is looked at again, whatever was remembered. */
const planAllEveryMs = 60_000;
const settledAfterMs = 60_000;

export type WorkMetrics = { runEnded(handler: string, outcome: string): void };

/**
 * The worker's loop: makes runs of accepted events, claims due ones up to each handler's free slots, runs them. A
 * wake starts a round at once; polling makes the next one certain. Everything it holds is in the database under a
 * lease: killed at any line, another worker goes on.
 */
export class Work {
  readonly #handlers: readonly Handler[];
  readonly #subscriptions: readonly Subscription[];
  readonly #holder: string;
  readonly #deps: {
    pool: Pool;
    txPool: Pool;
    leasePool: Pool;
    clock: Clock;
    log: Log;
    metrics?: WorkMetrics;
  };
  readonly #running = new Map<
    string,
    { handler: string; isSuspect: boolean; attempt: RunningTry; believedUntil: number }
  >();
  /** Runs that were cut but whose handler has not let go: they keep their slot (up to twice the time-out). */
  readonly #busy = new Map<string, number>();
  #timers: NodeJS.Timeout[] = [];
  #round: Promise<void> | undefined;
  #isWoken = false;
  #isStopping = false;
  #settledId = 0;
  #planAllAt = 0;

  constructor(
    handlers: readonly Handler[],
    options: { holder: string; sourceIds: ReadonlyMap<string, number> },
    deps: { pool: Pool; txPool: Pool; leasePool: Pool; clock: Clock; log: Log; metrics?: WorkMetrics },
  ) {
    this.#handlers = handlers;
    this.#holder = options.holder;
    this.#deps = deps;
    this.#subscriptions = handlers.map(({ name, source, pattern }) => ({
      handler: name,
      source: options.sourceIds.get(source) as number,
      regex: patternToRegex(pattern),
    }));
  }

  get runningCount(): number {
    return this.#running.size;
  }

  start(): void {
    this.#timers = [
      setInterval(() => this.wake(), pollEveryMs),
      setInterval(() => void this.renew(), renewEveryMs),
      setInterval(() => this.#dropUnbelieved(), 1_000),
    ];
    this.wake();
  }

  /** Asks for a round; wakes that come during one make a single further one. */
  wake(): void {
    this.#isWoken = true;
    if (this.#round !== undefined || this.#isStopping) return;
    this.#round = this.#rounds().finally(() => {
      this.#round = undefined;
      if (this.#isWoken && !this.#isStopping) this.wake();
    });
  }

  /** One round, and those that were asked for meanwhile; resolves when none is left to do. */
  async round(): Promise<void> {
    this.wake();
    while (this.#round !== undefined) await this.#round;
  }

  /** Takes no more, lets handlers end for `graceMs`, then cuts them and gives their runs back. Twice is fine. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
    await this.#round;
    const renewing = setInterval(() => void this.renew(), renewEveryMs);
    const attempts = [...this.#running.values()].map(({ attempt }) => attempt);
    const cut = setTimeout(() => {
      for (const attempt of attempts) attempt.cut('stopped');
    }, graceMs);
    await Promise.all(attempts.map(({ ended }) => ended));
    clearTimeout(cut);
    clearInterval(renewing);
  }

  async #rounds(): Promise<void> {
    while (this.#isWoken && !this.#isStopping) {
      this.#isWoken = false;
      try {
        await this.#runOnce();
      } catch (error) {
        this.#deps.log.warn(
          { event: 'work.round_failed', reason: (error as Error).message },
          'the queue could not be read; trying again',
        );
        return;
      }
    }
  }

  /** One round: take over what died, plan what is new, claim what is due. */
  async #runOnce(): Promise<void> {
    if (this.#handlers.length === 0) return;
    const now = new Date(this.#deps.clock.now());
    await this.#takeOver(now);
    await this.#plan(now);
    if (await this.#claimSuspect(now)) return;
    for (const handler of this.#handlers) {
      const free = handler.concurrency - this.#slotsTaken(handler.name);
      if (free <= 0 || this.#isStopping) continue;
      const claim = { handler: handler.name, holder: this.#holder, leaseMs, limit: free, now };
      const askedAt = performance.now();
      const claimed = await claimRuns(this.#deps.pool, claim);
      for (const run of claimed) this.#begin(run, handler, askedAt);
    }
  }

  /** Renews all leases in one statement; runs that are somebody else's by now are cut. */
  async renew(): Promise<void> {
    const runs = [...this.#running.keys()];
    if (runs.length === 0) return;
    const askedAt = performance.now();
    try {
      const held = await renewLeases(this.#deps.leasePool, { holder: this.#holder, runs, leaseMs });
      for (const id of runs) {
        const running = this.#running.get(id);
        if (running === undefined) continue;
        if (held.has(id)) running.believedUntil = askedAt + believedMs;
        else running.attempt.cut('lost');
      }
    } catch (error) {
      this.#deps.log.warn(
        { event: 'work.renewal_failed', reason: (error as Error).message },
        'leases could not be renewed',
      );
    }
  }

  async #takeOver(now: Date): Promise<void> {
    for (const { name, maxDeaths } of this.#handlers) {
      const taken = await takeOverRuns(this.#deps.pool, {
        handler: name,
        maxDeaths,
        maxAttempts: mostAttempts,
        now,
      });
      for (const run of taken) {
        this.#deps.log.warn(
          { event: 'run.taken_over', ...run },
          'a run was taken over from a worker that died',
        );
        this.#deps.metrics?.runEnded(run.handler, 'crashed');
      }
    }
  }

  /**
   * Events that no handler wants stay accepted and would be looked at in every round. Once a round found nothing more
   * to plan, ids from before a minute ago are passed over, until the next look at everything.
   */
  async #plan(now: Date): Promise<void> {
    const { pool } = this.#deps;
    const isFull = now.getTime() >= this.#planAllAt;
    const settledId = isFull
      ? await findSettledId(pool, new Date(now.getTime() - settledAfterMs))
      : this.#settledId;
    const options = { aboveId: isFull ? 0 : this.#settledId, now, limit: planLimit };
    const planned = await planRuns(pool, this.#subscriptions, options);
    if (planned === planLimit) {
      this.#isWoken = true;
    } else if (isFull) {
      this.#settledId = settledId;
      this.#planAllAt = now.getTime() + planAllEveryMs;
    }
  }

  /** A run whose worker died has this worker to itself, so that only the guilty one can kill again. True: do not claim. */
  async #claimSuspect(now: Date): Promise<boolean> {
    if ([...this.#running.values()].some(({ isSuspect }) => isSuspect)) return true;
    const handlers = this.#handlers.map(({ name }) => name);
    if (!(await hasSuspect(this.#deps.pool, handlers, now))) return false;
    if (this.#running.size > 0) return true;
    const askedAt = performance.now();
    const run = await claimSuspect(this.#deps.pool, { handlers, holder: this.#holder, leaseMs, now });
    if (run !== undefined)
      this.#begin(run, this.#handlers.find(({ name }) => name === run.handler) as Handler, askedAt);
    return true;
  }

  #begin(run: ClaimedRun, handler: Handler, askedAt: number): void {
    const attempt = startTry(run, handler, this.#deps);
    this.#running.set(run.id, {
      handler: handler.name,
      isSuspect: run.deaths > 0,
      attempt,
      believedUntil: askedAt + believedMs,
    });
    this.#busy.set(handler.name, (this.#busy.get(handler.name) ?? 0) + 1);
    const startedAt = performance.now();
    void attempt.ended.then((outcome) => {
      this.#running.delete(run.id);
      const tookMs = Math.round(performance.now() - startedAt);
      const { source, eventId, eventType } = run;
      const line = {
        event: 'run.ended',
        run: run.id,
        handler: handler.name,
        source,
        eventId,
        eventType,
        outcome,
        attempt: run.attempts,
        tookMs,
      };
      this.#deps.log[outcome === 'done' ? 'info' : 'warn'](
        line,
        `${handler.name} ${outcome} ${source} ${eventId}`,
      );
      this.#deps.metrics?.runEnded(handler.name, outcome);
      this.wake();
    });
    this.#freeSlotLater(attempt, handler);
  }

  /** The slot is free when the handler's promise is over, or after twice its time-out: then it counts as leaked. */
  #freeSlotLater(attempt: RunningTry, handler: Handler): void {
    let isFree = false;
    const free = (isLeaked: boolean) => {
      if (isFree) return;
      isFree = true;
      clearTimeout(leak);
      this.#busy.set(handler.name, (this.#busy.get(handler.name) ?? 1) - 1);
      if (isLeaked) {
        this.#deps.log.error(
          { event: 'run.leaked', run: attempt.run.id, handler: handler.name },
          'a handler ignores its signal long after its time-out',
        );
        this.#deps.metrics?.runEnded(handler.name, 'leaked');
      }
      this.wake();
    };
    const leak = setTimeout(() => free(true), 2 * handler.timeoutMs);
    leak.unref();
    void Promise.all([attempt.settled, attempt.ended]).then(() => free(false));
  }

  #slotsTaken(handler: string): number {
    return this.#busy.get(handler) ?? 0;
  }

  #dropUnbelieved(): void {
    const now = performance.now();
    for (const { attempt, believedUntil } of this.#running.values())
      if (believedUntil < now) attempt.cut('lost');
  }
}
