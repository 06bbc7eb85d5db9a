import { type Clock, type Moment, moment, restOf } from '../platform/clock.ts';
import type { Pool } from '../platform/db.ts';
import type { Log } from '../platform/log.ts';
import { Loop } from '../platform/loop.ts';
import { type ClaimedRun, claimRuns, type DueHandler, findDue } from './claim-store.ts';
import type { Handler } from './handlers.ts';
import type { Pace } from './pace.ts';
import { mostAttempts } from './run-end.ts';
import { type FailedRun, type RunningTry, startTry, type TryOutcome } from './run-handler.ts';
import { giveBackStrays, type NextClaim, renewLeases, type TakenOver, takeOverRuns } from './run-store.ts';
import { Slots } from './slots.ts';
import { isSuspect, mayStart } from './suspects.ts';

const leaseMs = 30_000;
/** A lease is believed for less than it lasts, counted from before its renewal was sent. */
const believedMs = 27_000;
const renewEveryMs = 10_000;
const pollEveryMs = 1_000;
const takeOverEveryMs = 1_000;
const askAgainMs = 5;
/** A run that was claimed without our knowing is looked for when its claim cannot be on its way here any more. */
const strayAfterMs = 2_000;
const beginning = new Date(0);
const mostRestMs = 100;

export type WorkMetrics = { runEnded(handler: string, outcome: string): void };

export type WorkDeps = {
  pool: Pool;
  txPool: Pool;
  leasePool: Pool;
  clock: Clock;
  log: Log;
  metrics?: WorkMetrics;
  onFailed: (run: FailedRun) => void;
  /** Called when a handler has nothing due any more. */
  onEmpty: () => void;
  pace: Pace;
};

type Running = { attempt: RunningTry; believedFrom: Moment; startedAt: number };

/**
 * The worker's loop: takes over what died, claims due runs up to each handler's free slots, runs them. A wake starts a
 * round at once; polling makes the next one certain. Everything it holds is in the database under a lease: killed at
 * any line, another worker goes on.
 */
export class Work {
  readonly #handlers: ReadonlyMap<string, Handler>;
  readonly #holder: string;
  readonly #deps: WorkDeps;
  readonly #loop: Loop;
  readonly #running = new Map<string, Running>();
  readonly #slots: Slots;
  #timers: NodeJS.Timeout[] = [];
  #askAgain: NodeJS.Timeout | undefined;
  #isStopping = false;
  /** When the last claimed run of a handler was due: for up to a second, what was due before is passed over. */
  readonly #passed = new Map<string, Date>();
  #takenOverAt = Number.NEGATIVE_INFINITY;
  /** Handlers that had more due when they were last looked at. */
  readonly #waiting = new Set<string>();
  #straysAt = Number.POSITIVE_INFINITY;
  #isSuspectNext = false;

  constructor(handlers: readonly Handler[], { holder }: { holder: string }, deps: WorkDeps) {
    this.#handlers = new Map(handlers.map((handler) => [handler.name, handler]));
    this.#holder = holder;
    this.#deps = deps;
    this.#slots = new Slots({
      log: deps.log,
      onFree: () => this.wake(),
      onLeaked: (handler) => deps.metrics?.runEnded(handler, 'leaked'),
    });
    this.#loop = new Loop({
      round: () => this.#round(),
      mostRestMs,
      onError: (error) => {
        deps.log.warn(
          { event: 'work.round_failed', reason: error.message },
          'the queue could not be read; trying again',
        );
      },
    });
  }

  get runningCount(): number {
    return this.#running.size;
  }

  start(): void {
    this.#timers = [
      setInterval(() => this.#lookAtAll(), pollEveryMs),
      setInterval(() => void this.renew(), renewEveryMs),
      setInterval(() => this.#dropUnbelieved(), 1_000),
    ];
    this.wake();
  }

  /** Asks for a round; wakes that come during one make a single further one. `isCertain`: something is due. */
  wake(options: { isCertain?: boolean } = {}): void {
    if (this.#handlers.size > 0) this.#loop.wake(options);
  }

  /** Rounds until none is left to do. */
  async run(): Promise<void> {
    this.#takenOverAt = Number.NEGATIVE_INFINITY;
    this.#passed.clear();
    if (this.#handlers.size > 0) await this.#loop.run();
  }

  /** Takes no more, lets handlers end for `graceMs`, then cuts them and gives their runs back. Twice is fine. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
    clearTimeout(this.#askAgain);
    await this.#loop.stop();
    const renewing = setInterval(() => void this.renew(), renewEveryMs);
    const cut = setTimeout(() => {
      for (const { attempt } of this.#running.values()) attempt.cut('stopped');
    }, graceMs);
    // A run that ends may still have claimed the next one.
    while (this.#running.size > 0)
      await Promise.all([...this.#running.values()].map(({ attempt }) => attempt.ended));
    clearTimeout(cut);
    clearInterval(renewing);
  }

  async #round(): Promise<boolean> {
    const now = new Date(this.#deps.clock.now());
    await this.#giveBackStrays();
    await this.#takeOver(now);
    const handlers = [...this.#handlers.keys()].map((name) => ({ name, from: this.#dueFrom(name) }));
    const due = await findDue(this.#deps.pool, handlers, now);
    for (const { name } of handlers)
      this.#note(
        name,
        due.some(({ handler, isSuspect }) => handler === name && !isSuspect),
      );
    const running = [...this.#running.values()].map(({ attempt, startedAt }) => ({
      run: attempt.run,
      startedAt,
    }));
    const { starts, isSuspectNext } = mayStart(due, running, now.getTime());
    this.#isSuspectNext = isSuspectNext;
    let claimed = 0;
    for (const one of starts) claimed += await this.#claim(one, now);
    return claimed > 0;
  }

  async #claim(due: DueHandler, now: Date): Promise<number> {
    const handler = this.#handlers.get(due.handler) as Handler;
    const free = handler.concurrency - this.#slots.taken(handler.name);
    const limit = this.#deps.pace.allowed(free);
    if (limit < free) this.#askAgainSoon();
    if (limit <= 0 || this.#isStopping) return 0;
    const believedFrom = moment();
    const { name, concurrency } = handler;
    const from = due.isSuspect ? beginning : this.#dueFrom(name);
    const claim = { ...due, concurrency, holder: this.#holder, leaseMs, limit, now, from };
    const claimed = await claimRuns(this.#deps.pool, claim).catch((error: Error) => {
      this.#lookForStraysLater();
      throw error;
    });
    if (claimed === 'busy') {
      this.#askAgainSoon();
      return 0;
    }
    this.#note(name, claimed.length === limit);
    for (const run of claimed) this.#begin(run, handler, believedFrom);
    return claimed.length;
  }

  #askAgainSoon(): void {
    this.#askAgain ??= setTimeout(() => {
      this.#askAgain = undefined;
      this.wake({ isCertain: true });
    }, askAgainMs);
  }

  /** Renews all leases in one statement; runs that are somebody else's by now are cut. */
  async renew(): Promise<void> {
    const runs = [...this.#running.keys()];
    if (runs.length === 0) return;
    const believedFrom = moment();
    try {
      const held = await renewLeases(this.#deps.leasePool, { holder: this.#holder, runs, leaseMs });
      for (const id of runs) {
        const running = this.#running.get(id);
        if (running === undefined) continue;
        if (held.has(id)) running.believedFrom = believedFrom;
        else running.attempt.cut('lost');
      }
    } catch (error) {
      this.#deps.log.warn(
        { event: 'work.renewal_failed', reason: (error as Error).message },
        'leases could not be renewed',
      );
    }
  }

  /** A claim whose answer was lost may have been made all the same. */
  async #giveBackStrays(): Promise<void> {
    if (performance.now() < this.#straysAt) return;
    const known = [...this.#running.keys()];
    await giveBackStrays(this.#deps.pool, { holder: this.#holder, known, restMs: leaseMs - strayAfterMs });
    this.#straysAt = Number.POSITIVE_INFINITY;
  }

  #lookForStraysLater(): void {
    this.#straysAt = performance.now() + strayAfterMs + 500;
  }

  async #takeOver(now: Date): Promise<void> {
    if (performance.now() - this.#takenOverAt < takeOverEveryMs) return;
    this.#takenOverAt = performance.now();
    const handlers = [...this.#handlers.values()];
    const taken = await takeOverRuns(this.#deps.pool, { handlers, maxAttempts: mostAttempts, now });
    for (const run of taken) this.#reportTakenOver(run);
  }

  #reportTakenOver(run: TakenOver): void {
    const { log, metrics, onFailed } = this.#deps;
    log.warn({ event: 'run.taken_over', ...run }, 'a run was taken over from a worker that died');
    metrics?.runEnded(run.handler, 'crashed');
    if (run.status === 'failed') onFailed({ ...run, error: 'the worker died at every try (crashed)' });
  }

  #begin(run: ClaimedRun, handler: Handler, believedFrom: Moment): void {
    if (!isSuspect(run)) this.#passed.set(handler.name, run.dueAt);
    let endingFrom = believedFrom;
    let isAsked = false;
    const nextClaim = () => {
      endingFrom = moment();
      const claim = this.#nextClaim(handler);
      isAsked = claim !== undefined;
      return claim;
    };
    this.#deps.pace.started();
    const attempt = startTry(run, handler, { ...this.#deps, nextClaim });
    const startedAt = this.#deps.clock.now();
    const beganAt = performance.now();
    this.#running.set(run.id, { attempt, believedFrom, startedAt });
    void attempt.ended.then(({ outcome, next, isDoubtful = false }) => {
      this.#running.delete(run.id);
      this.#reportEnded(run, outcome, Math.round(performance.now() - beganAt));
      if (isDoubtful) this.#lookForStraysLater();
      if (isAsked) this.#note(handler.name, next !== undefined);
      if (next === undefined) this.wake();
      else this.#begin(next, handler, endingFrom);
    });
    this.#slots.take(attempt, handler);
  }

  /** Whether a handler had more due when it was last looked at. */
  hasWaiting(handler: string): boolean {
    return this.#waiting.has(handler);
  }

  #note(handler: string, hasMore: boolean): void {
    if (hasMore) this.#waiting.add(handler);
    else if (this.#waiting.delete(handler)) this.#deps.onEmpty();
  }

  #dueFrom(handler: string): Date {
    return this.#passed.get(handler) ?? beginning;
  }

  /** Also at what was given back, or got its runs late. */
  #lookAtAll(): void {
    this.#passed.clear();
    this.wake();
  }

  /** Its slot goes on to the handler's next run, unless something else must come first. */
  #nextClaim(handler: Handler): NextClaim | undefined {
    const isFull = this.#slots.taken(handler.name) > handler.concurrency;
    if (this.#isStopping || this.#isSuspectNext || isFull || this.#deps.pace.allowed(1) < 1) return undefined;
    return { leaseMs, now: new Date(this.#deps.clock.now()), from: this.#dueFrom(handler.name) };
  }

  #reportEnded(run: ClaimedRun, outcome: TryOutcome, tookMs: number): void {
    const { source, eventId, eventType, handler, attempts } = run;
    const line = { event: 'run.ended', run: run.id, handler, source, eventId, eventType, outcome };
    this.#deps.log[outcome === 'done' ? 'info' : 'warn'](
      { ...line, attempt: attempts, tookMs },
      `${handler} ${outcome} ${source} ${eventId}`,
    );
    this.#deps.metrics?.runEnded(handler, outcome);
  }

  #dropUnbelieved(): void {
    const at = moment();
    for (const { attempt, believedFrom } of this.#running.values())
      if (restOf(believedMs, believedFrom, at) === 0) attempt.cut('lost');
  }
}
