import type { Clock } from '../platform/clock.ts';
import type { Pool } from '../platform/db.ts';
import type { Log } from '../platform/log.ts';
import { Loop } from '../platform/loop.ts';
import {
  examineAccepted,
  examineFresh,
  findLastId,
  planRuns,
  type Span,
  type Subscription,
  type TakenEvent,
} from './plan-store.ts';

const pollEveryMs = 1_000;
/**
 * Rows looked at in a round, and so the most events that get their runs in one statement. Under pressure fewer: each such
 * statement holds a core for as long as senders wait.
 */
const rowsPerRound = { relaxed: 500, pressed: 50 };
/** Longer than an insert may take: what is not visible by then was never committed. */
const holeLivesMs = 15_000;
const mostHoles = 1_000;
/** From time to time what is accepted is looked at again, whatever was remembered. */
const sweepEveryMs = 60_000;
const mostIdsInFlight = 2_000;
/** What comes in a stream gets its runs in handfuls: a statement for each event would cost more than running it. */
const leastRestMs = 10;
const mostRestMs = 200;

type PlanDeps = {
  pool: Pool;
  clock: Clock;
  log: Log;
  /** Whether ingest on the same cores is short of them. */
  isPressed: () => boolean;
  /** Whether this handler's events should wait for now. */
  isPutOff: (handler: string) => boolean;
};

/**
 * Makes the runs of accepted events. Each new row is looked at once: a cursor goes up by id, and ids that were passed
 * over because their transaction was still open are remembered as holes until they show. So events that no handler
 * wants cost nothing further, however many wait. A sweep over what is accepted, at the start and every minute, finds
 * what was there before, or was lost by whoever died.
 *
 * While ingest is under pressure, handlers that have enough due are put off: their events are taken up where they were
 * left, as soon as they need them. Runs that nobody starts for a while would cost ingest as much as those that run.
 */
export class Planner {
  readonly #subscriptions: readonly Subscription[];
  readonly #deps: PlanDeps;
  readonly #onPlanned: (events: readonly TakenEvent[]) => void;
  readonly #loop: Loop;
  #poll: NodeJS.Timeout | undefined;
  #cursor: number | undefined;
  /** Handlers that were put off, and the id behind which their events were not looked at for them. */
  readonly #putOff = new Map<string, number>();
  #holes: (Span & { seenAt: number })[] = [];
  #sweptId = 0;
  /** Where the next sweep begins: the first two look at everything, later ones at what came in the last two minutes. */
  #nextSweepFrom = 0;
  #sweepAt = 0;

  constructor(
    subscriptions: readonly Subscription[],
    deps: PlanDeps,
    /** Called when there are new runs, with those events whose runs were made here, after the commit of that. */
    onPlanned: (events: readonly TakenEvent[]) => void,
  ) {
    this.#subscriptions = subscriptions;
    this.#deps = deps;
    this.#onPlanned = onPlanned;
    this.#loop = new Loop({
      round: () => this.#round(),
      leastRestMs,
      mostRestMs,
      onError: (error) =>
        deps.log.warn(
          { event: 'plan.round_failed', reason: error.message },
          'the journal could not be read for new events; trying again',
        ),
    });
  }

  start(): void {
    this.#poll ??= setInterval(() => this.wake(), pollEveryMs);
    this.wake();
  }

  wake(): void {
    if (this.#subscriptions.length > 0) this.#loop.wake();
  }

  /** Rounds until nothing is left to plan. */
  async run(): Promise<void> {
    if (this.#subscriptions.length > 0) await this.#loop.run();
  }

  async stop(): Promise<void> {
    clearInterval(this.#poll);
    await this.#loop.stop();
  }

  async #round(): Promise<boolean> {
    const now = this.#deps.clock.now();
    const swept = await this.#sweep(now);
    const takenUp = await this.#takeUp(now);
    const fresh = await this.#lookAtFresh(now);
    return swept || takenUp || fresh;
  }

  async #sweep(now: number): Promise<boolean> {
    // A clock that was set back must not put the next sweep off.
    if (now < this.#sweepAt && this.#sweepAt - now <= sweepEveryMs) return false;
    const { pool } = this.#deps;
    const subscriptions = this.#subscriptionsFrom(this.#sweptId);
    if (subscriptions.length === 0) return false;
    // Before the first sweep looks: what is committed later is above, but for what is being written just now.
    this.#cursor ??= Math.max(0, (await findLastId(pool)) - mostIdsInFlight);
    const options = { aboveId: this.#sweptId, limit: this.#rowsAtOnce };
    const { wanted, lastId, count } = await examineAccepted(pool, subscriptions, options);
    const planned = await this.#plan(wanted, now);
    if (count === options.limit) {
      this.#sweptId = lastId as number;
      this.#loop.wake({ isCertain: true });
      return true;
    }
    [this.#sweptId, this.#nextSweepFrom] = [this.#nextSweepFrom, this.#cursor];
    this.#sweepAt = now + sweepEveryMs;
    return planned;
  }

  get #rowsAtOnce(): number {
    return this.#deps.isPressed() ? rowsPerRound.pressed : rowsPerRound.relaxed;
  }

  /**
   * Those that are not put off, and have taken up what they were put off for. From here on, the others lack what is
   * behind `fromId`, unless it is all of them.
   */
  #subscriptionsFrom(fromId: number): Subscription[] {
    const isBehind = (handler: string) => this.#putOff.has(handler) || this.#deps.isPutOff(handler);
    const wanting = this.#subscriptions.filter(({ handler }) => !isBehind(handler));
    if (wanting.length === 0) return [];
    for (const { handler } of this.#subscriptions)
      if (isBehind(handler)) this.#putOff.set(handler, Math.min(fromId, this.#putOff.get(handler) ?? fromId));
    return wanting;
  }

  /** What was passed over for handlers that want events again. */
  async #takeUp(now: number): Promise<boolean> {
    let found = false;
    for (const [handler, aboveId] of this.#putOff) {
      if (this.#deps.isPutOff(handler)) continue;
      const own = this.#subscriptions.filter((subscription) => subscription.handler === handler);
      const options = { aboveId, limit: this.#rowsAtOnce };
      const { wanted, lastId, count } = await examineAccepted(this.#deps.pool, own, options);
      found = (await this.#plan(wanted, now)) || found;
      if (count === options.limit && (lastId as number) < (this.#cursor as number)) {
        this.#putOff.set(handler, lastId as number);
        this.#loop.wake();
      } else {
        this.#putOff.delete(handler);
      }
    }
    return found;
  }

  async #lookAtFresh(now: number): Promise<boolean> {
    let planned = false;
    for (;;) {
      const { found, isMore } = await this.#lookAtSome(now);
      planned ||= found;
      if (!isMore) return planned;
      // Enough to begin with: whether it wants more yet is asked again.
      if (found && this.#deps.isPressed()) {
        this.#loop.wake();
        return planned;
      }
    }
  }

  async #lookAtSome(now: number): Promise<{ found: boolean; isMore: boolean }> {
    // Without a cursor the first sweep has not begun: everything was put off.
    const subscriptions = this.#cursor === undefined ? [] : this.#subscriptionsFrom(this.#cursor);
    if (this.#cursor === undefined || subscriptions.length === 0) return { found: false, isMore: false };
    const limit = this.#rowsAtOnce;
    const options = { aboveId: this.#cursor, holes: this.#holes, limit };
    const examined = await examineFresh(this.#deps.pool, subscriptions, options);
    const found = await this.#plan(examined.wanted, now);
    // Only now: a plan that failed must look at the same rows again.
    this.#cursor = examined.lastId ?? this.#cursor;
    this.#rememberHoles(examined);
    return { found, isMore: examined.count === limit };
  }

  #rememberHoles({ holes, filled }: { holes: readonly Span[]; filled: readonly number[] }): void {
    const seenAt = performance.now();
    const open = this.#holes.filter((hole) => seenAt - hole.seenAt < holeLivesMs);
    this.#holes = [
      ...(filled.length === 0 ? open : open.flatMap((hole) => withoutIds(hole, filled))),
      ...holes.map((hole) => ({ ...hole, seenAt })),
    ].slice(-mostHoles);
  }

  async #plan(ids: readonly number[], now: number): Promise<boolean> {
    if (ids.length === 0) return false;
    const taken = await planRuns(this.#deps.pool, this.#subscriptions, { ids, now: new Date(now) });
    // Also where another worker took them all: their runs are due for everybody.
    this.#onPlanned(taken);
    return true;
  }
}

/** What is left of a span when these ids are taken out. */
function withoutIds<T extends Span>(span: T, ids: readonly number[]): T[] {
  const inside = ids.filter((id) => span.first <= id && id <= span.last).sort((a, b) => a - b);
  let { first } = span;
  const left: T[] = [];
  for (const id of inside) {
    if (first < id) left.push({ ...span, first, last: id - 1 });
    first = id + 1;
  }
  if (first <= span.last) left.push({ ...span, first });
  return left;
}
