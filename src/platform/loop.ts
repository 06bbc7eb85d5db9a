const firstRestMs = 5;
/** After this long without a round nothing of a former flood matters. */
const forgetMs = 1_000;

/**
 * Runs rounds one at a time. Wakes that come during a round make a single further one. With `mostRestMs`, rounds that
 * find nothing to do although they were asked for move apart, up to that: a flood of wakes that do not concern us
 * then costs a few rounds a second, while the first wake after a pause still starts one at once. `leastRestMs` lies between
 * any two rounds, so that what comes in a stream is taken in handfuls.
 */
export class Loop {
  readonly #round: () => Promise<boolean>;
  readonly #onError: (error: Error) => void;
  readonly #leastRestMs: number;
  readonly #mostRestMs: number;
  #running: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isWoken = false;
  /** A certain wake came during the round in flight. */
  #isCertain = false;
  #isStopped = false;
  #restMs = 0;
  #endedAt = Number.NEGATIVE_INFINITY;

  constructor({
    round,
    onError,
    leastRestMs = 0,
    mostRestMs = leastRestMs,
  }: {
    /** Says whether it found something to do. */
    round: () => Promise<boolean>;
    /** Of a round that threw; the next wake starts another. */
    onError: (error: Error) => void;
    leastRestMs?: number;
    mostRestMs?: number;
  }) {
    this.#round = round;
    this.#onError = onError;
    this.#leastRestMs = leastRestMs;
    this.#mostRestMs = mostRestMs;
  }

  /** `isCertain`: there is something to do; the round does not wait. */
  wake({ isCertain = false } = {}): void {
    this.#isWoken = true;
    if (isCertain) {
      this.#isCertain = this.#running !== undefined;
      this.#restMs = 0;
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    if (this.#running !== undefined || this.#timer !== undefined || this.#isStopped) return;
    const idleMs = performance.now() - this.#endedAt;
    if (idleMs > forgetMs) this.#restMs = 0;
    if (idleMs >= this.#restMs) this.#start();
    else {
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        this.#start();
      }, this.#restMs - idleMs);
    }
  }

  /** Wakes without any rest; resolves when no round is left to do. */
  async run(): Promise<void> {
    this.wake({ isCertain: true });
    while (!this.#isStopped && (this.#running !== undefined || this.#isWoken)) {
      if (this.#running === undefined) this.wake({ isCertain: true });
      await this.#running;
    }
  }

  /** No further round; resolves when the one in flight has ended. Twice is fine. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#running;
  }

  #start(): void {
    if (this.#isStopped) return;
    this.#running = this.#once().finally(() => {
      this.#running = undefined;
      this.#endedAt = performance.now();
      if (this.#isWoken) this.wake();
    });
  }

  async #once(): Promise<void> {
    this.#isWoken = false;
    const restMs = Math.min(this.#mostRestMs, Math.max(firstRestMs, 2 * this.#restMs));
    let isFruitful = false;
    try {
      isFruitful = await this.#round();
    } catch (error) {
      this.#onError(error as Error);
    }
    this.#restMs = this.#isCertain ? 0 : isFruitful ? this.#leastRestMs : restMs;
    this.#isCertain = false;
  }
}
