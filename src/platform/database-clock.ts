import { type Clock, systemClock } from './clock.ts';
import { readDatabaseTime } from './clock-store.ts';
import { databaseUnreachable, isConnectionFailure, type Pool } from './db.ts';
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

  /** Measures, and again every 5 s. Throws DATABASE_UNREACHABLE without an answer: this machine's clock may be anything. */
  async start(): Promise<void> {
    await this.#measure().catch((error) => {
      throw isConnectionFailure(error) ? databaseUnreachable(error) : error;
    });
    this.#timer ??= setInterval(() => void this.measure(), measureEveryMs);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Asks the database for its time. A database that does not answer leaves the clock going as it goes. */
  async measure(): Promise<void> {
    await this.#measure().catch((error: Error) =>
      this.#log.debug({ event: 'clock.not_measured', reason: error.message }, 'clock not measured'),
    );
  }

  async #measure(): Promise<void> {
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
