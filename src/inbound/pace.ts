/**
 * How many runs may start a second beside ingest. Gateway and worker of one server share its cores: what is acknowledged
 * can wait, what is not yet acknowledged cannot. Under pressure the limit falls by a quarter every tenth of a second, down
 * to `leastPerSecond`. Without it rises by a twelfth as long as it is reached, and else comes to rest at `restPerSecond`: a
 * worker that begins with all it can (connections, plans, code that is not compiled yet) would itself be the pressure.
 * Where nobody judges there is no limit. Starts are limited, not runs: handlers that only wait for somebody are not
 * slowed down by it.
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

  /** Since the last pressure the limit has not come back to where it rests. */
  get isPressed(): boolean {
    return this.#perSecond < restPerSecond;
  }

  /** How many runs may start now, at most `wanted`. */
  allowed(wanted: number): number {
    if (this.#isUnlimited) return wanted;
    this.#fill();
    return Math.min(wanted, Math.floor(this.#allowance));
  }

  /** A run started. */
  started(): void {
    this.#started += 1;
    if (!this.#isUnlimited) this.#allowance -= 1;
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
    } else if (this.#isUnlimited) {
      this.#perSecond = restPerSecond;
    } else {
      const isShort = this.isPressed || rate > 0.5 * this.#perSecond;
      this.#perSecond = isShort ? 1.08 * this.#perSecond : Math.max(restPerSecond, this.#perSecond / 1.08);
    }
  }

  get #isUnlimited(): boolean {
    return this.#perSecond === Number.POSITIVE_INFINITY;
  }

  #fill(): void {
    const now = this.#now();
    if (!this.#isUnlimited) {
      const most = Math.max(1, (this.#perSecond * burstMs) / 1_000);
      const filled = this.#allowance + (this.#perSecond * (now - this.#filledAt)) / 1_000;
      this.#allowance = Math.min(most, filled);
    }
    this.#filledAt = now;
  }
}

const leastPerSecond = 200;
const restPerSecond = 1_000;
const burstMs = 20;
