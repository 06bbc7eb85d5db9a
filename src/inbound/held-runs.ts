import { type Moment, moment, restOf } from '../platform/clock.ts';
import type { Pool } from '../platform/db.ts';
import type { Log } from '../platform/log.ts';
import type { ClaimedRun } from './claim-store.ts';
import type { RunningTry } from './run-handler.ts';
import { giveBackStrays, renewLeases } from './run-store.ts';

/** A lease is believed for this share of what it lasts, counted from before its renewal was sent. */
const believedShare = 0.9;
/** A run that was claimed without our knowing is looked for when its claim cannot be on its way here any more. */
const strayAfterMs = 2_000;

type Held = { attempt: RunningTry; believedFrom: Moment; startedAt: number };

/** The runs that a worker holds under leases. One that is somebody else's by now, or may be, is cut. */
export class HeldRuns {
  readonly #holder: string;
  readonly #leaseMs: number;
  readonly #deps: { pool: Pool; leasePool: Pool; log: Log };
  readonly #runs = new Map<string, Held>();
  #straysAt = Number.POSITIVE_INFINITY;

  constructor(
    { holder, leaseMs }: { holder: string; leaseMs: number },
    deps: { pool: Pool; leasePool: Pool; log: Log },
  ) {
    this.#holder = holder;
    this.#leaseMs = leaseMs;
    this.#deps = deps;
  }

  get count(): number {
    return this.#runs.size;
  }

  get tries(): RunningTry[] {
    return [...this.#runs.values()].map(({ attempt }) => attempt);
  }

  get running(): { run: ClaimedRun; startedAt: number }[] {
    return [...this.#runs.values()].map(({ attempt, startedAt }) => ({ run: attempt.run, startedAt }));
  }

  /** `believedFrom`: before its claim was sent. */
  hold(attempt: RunningTry, since: { believedFrom: Moment; startedAt: number }): void {
    this.#runs.set(attempt.run.id, { attempt, ...since });
  }

  letGo(run: string): void {
    this.#runs.delete(run);
  }

  /** Renews all leases in one statement. */
  async renew(): Promise<void> {
    const runs = [...this.#runs.keys()];
    if (runs.length === 0) return;
    const believedFrom = moment();
    try {
      const lease = { holder: this.#holder, runs, leaseMs: this.#leaseMs };
      const held = await renewLeases(this.#deps.leasePool, lease);
      for (const id of runs) {
        const run = this.#runs.get(id);
        if (run === undefined) continue;
        if (held.has(id)) run.believedFrom = believedFrom;
        else run.attempt.cut('lost');
      }
    } catch (error) {
      this.#deps.log.warn(
        { event: 'work.renewal_failed', reason: (error as Error).message },
        'leases could not be renewed',
      );
    }
  }

  cutUnbelieved(): void {
    const at = moment();
    for (const { attempt, believedFrom } of this.#runs.values())
      if (restOf(believedShare * this.#leaseMs, believedFrom, at) === 0) attempt.cut('lost');
  }

  /** A claim whose answer was lost may have been made all the same. */
  lookForStraysLater(): void {
    this.#straysAt = performance.now() + strayAfterMs + 500;
  }

  async giveBackStrays(): Promise<void> {
    if (performance.now() < this.#straysAt) return;
    const known = [...this.#runs.keys()];
    const restMs = this.#leaseMs - strayAfterMs;
    await giveBackStrays(this.#deps.pool, { holder: this.#holder, known, restMs });
    this.#straysAt = Number.POSITIVE_INFINITY;
  }
}
