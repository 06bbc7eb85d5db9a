import { type Clock, type Moment, moment } from '../platform/clock.ts';
import type { Pool } from '../platform/db.ts';
import type { Log } from '../platform/log.ts';
import { Loop } from '../platform/loop.ts';
import type { Scheme } from '../signing/index.ts';
import { type ClaimedRun, claimRuns, type DueHandler, findDue } from './claim-store.ts';
import type { Handler } from './handlers.ts';
import { HeldRuns } from './held-runs.ts';
import type { Pace } from './pace.ts';
import { mostAttempts } from './run-end.ts';
import { type FailedRun, startTry, type TryOutcome } from './run-handler.ts';
import { type NextClaim, type TakenOver, takeOverRuns } from './run-store.ts';
import { Slots } from './slots.ts';
import { isSuspect, mayStart } from './suspects.ts';

const leaseMs = 30_000;
const renewEveryMs = 10_000;
const pollEveryMs = 1_000;
const takeOverEveryMs = 1_000;
const askAgainMs = 5;
const beginning = new Date(0);
const mostRestMs = 100;

export type WorkMetrics = { runEnded(handler: string, outcome: string): void };

export type WorkDeps = {
  pool: Pool;
  txPool: Pool;
  leasePool: Pool;
  schemes?: ReadonlyMap<string, Scheme> | undefined;
  clock: Clock;
  log: Log;
  metrics?: WorkMetrics;
  onFailed: (run: FailedRun) => void;
  /** Called when a handler has nothing due any more. */
  onEmpty: () => void;
  pace: Pace;
};

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
  readonly #held: HeldRuns;
  readonly #slots: Slots;
  #timers: NodeJS.Timeout[] = [];
  #askAgain: NodeJS.Timeout | undefined;
  #isStopping = false;
  /** When the last claimed run of a handler was due: for up to a second, what was due before is passed over. */
  readonly #passed = new Map<string, Date>();
  #takenOverAt = Number.NEGATIVE_INFINITY;
  /** Handlers that had more due when they were last looked at. */
  readonly #waiting = new Set<string>();
  #isSuspectNext = false;
  #isLookDue = true;

  constructor(handlers: readonly Handler[], { holder }: { holder: string }, deps: WorkDeps) {
    this.#handlers = new Map(handlers.map((handler) => [handler.name, handler]));
    this.#holder = holder;
    this.#deps = deps;
    this.#held = new HeldRuns({ holder, leaseMs }, deps);
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
    return this.#held.count;
  }

  start(): void {
    this.#timers = [
      setInterval(() => this.#lookAtAll(), pollEveryMs),
      setInterval(() => void this.renew(), renewEveryMs),
      setInterval(() => this.#held.cutUnbelieved(), 1_000),
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
      for (const attempt of this.#held.tries) attempt.cut('stopped');
    }, graceMs);
    // A run that ends may still have claimed the next one.
    while (this.#held.count > 0) await Promise.all(this.#held.tries.map(({ ended }) => ended));
    clearTimeout(cut);
    clearInterval(renewing);
  }

  /** Renews all leases; runs that are somebody else's by now are cut. */
  renew(): Promise<void> {
    return this.#held.renew();
  }

  async #round(): Promise<boolean> {
    const now = new Date(this.#deps.clock.now());
    await this.#held.giveBackStrays();
    await this.#takeOver(now);
    const due = await this.#look(now);
    if (due === undefined) return false;
    const { starts, isSuspectNext } = mayStart(due, this.#held.running, now.getTime());
    this.#isSuspectNext = isSuspectNext;
    let claimed = 0;
    for (const one of starts) claimed += await this.#claim(one, now);
    return claimed > 0;
  }

  /** Handlers without a free slot are looked at once a second, for suspects: their slots are handed on from run to run. */
  async #look(now: Date): Promise<readonly DueHandler[] | undefined> {
    const handlers = [...this.#handlers.keys()];
    const open = handlers
      .filter((name) => this.#freeSlots(name) > 0)
      .map((name) => ({ name, from: this.#dueFrom(name) }));
    if (open.length === 0 && !this.#isLookDue) return undefined;
    this.#isLookDue = false;
    const due = await findDue(this.#deps.pool, { handlers, open }, now);
    const names = new Set(due.filter(({ isSuspect }) => !isSuspect).map(({ handler }) => handler));
    for (const { name } of open) this.#note(name, names.has(name));
    return due;
  }

  #freeSlots(name: string): number {
    return (this.#handlers.get(name) as Handler).concurrency - this.#slots.taken(name);
  }

  async #claim(due: DueHandler, now: Date): Promise<number> {
    const handler = this.#handlers.get(due.handler) as Handler;
    const free = this.#freeSlots(handler.name);
    const limit = this.#deps.pace.allowed(free);
    if (limit < free) this.#askAgainSoon();
    if (limit <= 0 || this.#isStopping) return 0;
    const believedFrom = moment();
    const { name, concurrency } = handler;
    const from = due.isSuspect ? beginning : this.#dueFrom(name);
    const claim = { ...due, concurrency, holder: this.#holder, leaseMs, limit, now, from };
    const claimed = await claimRuns(this.#deps.pool, claim).catch((error: Error) => {
      this.#held.lookForStraysLater();
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
    this.#held.hold(attempt, { believedFrom, startedAt });
    void attempt.ended.then(({ outcome, next, isDoubtful = false }) => {
      this.#held.letGo(run.id);
      this.#reportEnded(run, outcome, Math.round(performance.now() - beganAt));
      if (isDoubtful) this.#held.lookForStraysLater();
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
    this.#isLookDue = true;
    this.wake();
  }

  /** Its slot goes on to the handler's next run, unless something else must come first. */
  #nextClaim(handler: Handler): NextClaim | undefined {
    const isOverfull = this.#freeSlots(handler.name) < 0;
    if (this.#isStopping || this.#isSuspectNext || isOverfull || this.#deps.pace.allowed(1) < 1)
      return undefined;
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
}
