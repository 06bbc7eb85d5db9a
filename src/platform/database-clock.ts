import { type Clock, systemClock } from './clock.ts';
import { readDatabaseTime } from './clock-store.ts';
import type { Pool } from './db.ts';
import type { Log } from './log.ts';

const measureEveryMs = 5_000;
const jumpMs = 5_000;

/**
 * "Now" by the database's clock, so that all processes agree on what is due. Between two measurements it goes on by
 * the monotonic clock: setting this machine's clock changes nothing. Before the first one it is the machine's.
 */
export class DatabaseClock implements Clock {
  readonly #pool: Pool;
  readonly #log: Log;
  /** The database's time at which this process's monotonic clock was 0. */
  #origin: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor({ pool, log }: { pool: Pool; log: Log }) {
    this.#pool = pool;
    this.#log = log;
  }

  now(): number {
    return this.#origin === undefined ? systemClock.now() : Math.floor(this.#origin + performance.now());
  }

  /** Measures, and again every 5 s. */
  async start(): Promise<void> {
    await this.measure();
    this.#timer ??= setInterval(() => void this.measure(), measureEveryMs);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Asks the database for its time. A database that does not answer leaves the clock going as it goes. */
  async measure(): Promise<void> {
    try {
      // A client first: waiting for a free one must not count as the way to the database.
      const client = await this.#pool.connect();
      let isBroken = true;
      try {
        const askedAt = performance.now();
        const databaseMs = await readDatabaseTime(client);
        isBroken = false;
        this.#take(databaseMs - (askedAt + performance.now()) / 2);
      } finally {
        client.release(isBroken);
      }
    } catch (error) {
      this.#log.debug(
        { event: 'clock.not_measured', reason: (error as Error).message },
        'clock not measured',
      );
    }
  }

  #take(origin: number): void {
    const byMs = Math.round(origin + performance.now() - this.now());
    if (Math.abs(byMs) > jumpMs) {
      const isFirst = this.#origin === undefined;
      this.#log.warn(
        { event: isFirst ? 'clock.differs' : 'clock.jumped', byMs },
        isFirst
          ? `this machine's clock differs from the database's by ${byMs} ms; posthorn goes by the database's`
          : `the database's clock jumped by ${byMs} ms; posthorn follows it`,
      );
    }
    this.#origin = origin;
  }
}
