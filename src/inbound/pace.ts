/**
 * How many runs may start a second while ingest is under pressure. Gateway and worker of one server share its cores:
 * what is acknowledged can wait, what is not yet acknowledged cannot. Without pressure there is no limit. Under pressure
 * it falls by a quarter every tenth of a second, down to `leastPerSecond`; when the pressure is gone it rises by a twelfth,
 * and a limit that was not reached any more is forgotten. Starts are limited, not runs: handlers that only wait for
 * somebody are not slowed down by it.
 */
export class Pace {
  readonly #now: () => number;
  #perSecond = Number.POSITIVE_INFINITY;
  /** Starts that are allowed just now; gathers for at most `burstMs`. */
  #allowance = 0;
  #filledAt: number;
  #started = 0;
  #judgedAt: number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#filledAt = now();
    this.#judgedAt = now();
  }

  get perSecond(): number {
    return this.#perSecond;
  }

  get isPressed(): boolean {
    return this.#perSecond !== Number.POSITIVE_INFINITY;
  }

  /** How many runs may start now, at most `wanted`. */
  allowed(wanted: number): number {
    if (!this.isPressed) return wanted;
    this.#fill();
    return Math.min(wanted, Math.floor(this.#allowance));
  }

  /** A run started. */
  started(): void {
    this.#started += 1;
    if (this.isPressed) this.#allowance -= 1;
  }

  /** Told every tenth of a second or so whether ingest is under pressure. */
  judge(isPressed: boolean): void {
    const spanMs = Math.max(1, this.#now() - this.#judgedAt);
    const rate = (1_000 * this.#started) / spanMs;
    this.#judgedAt = this.#now();
    this.#started = 0;
    this.#fill();
    if (isPressed) {
      if (!this.isPressed) this.#allowance = 0;
      this.#perSecond = Math.max(leastPerSecond, 0.75 * Math.min(this.#perSecond, rate));
    } else if (this.isPressed) {
      const isReached = rate > 0.5 * this.#perSecond;
      this.#perSecond =
        isReached || this.#perSecond < forgetAbove ? 1.08 * this.#perSecond : Number.POSITIVE_INFINITY;
    }
  }

  #fill(): void {
    const now = this.#now();
    if (this.isPressed) {
      const most = Math.max(1, (this.#perSecond * burstMs) / 1_000);
      const filled = this.#allowance + (this.#perSecond * (now - this.#filledAt)) / 1_000;
      this.#allowance = Math.min(most, filled);
    }
    this.#filledAt = now;
  }
}

const leastPerSecond = 200;
const forgetAbove = 10_000;
const burstMs = 20;
