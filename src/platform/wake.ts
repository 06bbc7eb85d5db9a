import pg from 'pg';
import type { DatabaseAddress, Pool } from './db.ts';
import type { Log } from './log.ts';
import { listen, notify } from './wake-store.ts';

/**
 * Waking other processes through the database. A wake says only "look": it carries no data, may be lost, and polling
 * always works without it. It is never sent by a transaction that holds webhooks: NOTIFY takes a lock of the whole
 * server at commit.
 */

const notifyEveryMs = 20;
const reconnectMs = 1_000;

/** The first call of a burst runs `send` at once, the next after `everyMs`, and the last always. */
export function throttle(everyMs: number, send: () => void): { wake(): void; stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  let isDue = false;
  const wake = () => {
    if (timer !== undefined) {
      isDue = true;
      return;
    }
    send();
    timer = setTimeout(() => {
      timer = undefined;
      if (!isDue) return;
      isDue = false;
      wake();
    }, everyMs);
  };
  return { wake, stop: () => clearTimeout(timer) };
}

/** Wakes whoever listens on a channel: one NOTIFY in 20 ms at most, the last of a burst always (OUT-8). */
export class Notifier {
  readonly #throttle: ReturnType<typeof throttle>;

  /** `pool` should be the notifier's own: a NOTIFY must not wait behind other statements. */
  constructor({ pool, channel, log }: { pool: Pool; channel: string; log: Log }) {
    this.#throttle = throttle(notifyEveryMs, () => {
      notify(pool, channel).catch((error: Error) =>
        log.debug({ event: 'wake.not_sent', reason: error.message }, 'others will find the work by polling'),
      );
    });
  }

  wake(): void {
    this.#throttle.wake();
  }

  stop(): void {
    this.#throttle.stop();
  }
}

/**
 * Listens on a channel with a connection of its own, past any pooler. A connection that breaks is made again; as
 * wakes may have been missed meanwhile, each new one wakes.
 */
export class Listener {
  readonly #address: DatabaseAddress;
  readonly #channel: string;
  readonly #onWake: () => void;
  readonly #log: Log;
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: { address: DatabaseAddress; channel: string; onWake: () => void; log: Log }) {
    this.#address = options.address;
    this.#channel = options.channel;
    this.#onWake = options.onWake;
    this.#log = options.log;
  }

  /** Resolves when it listens or the first attempt failed; it goes on trying. Never rejects. */
  async start(): Promise<void> {
    const client = new pg.Client({
      ...this.#address,
      application_name: 'posthorn listen',
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
    });
    this.#client = client;
    client.on('notification', () => this.#onWake());
    client.on('error', () => {});
    client.on('end', () => this.#startLater());
    try {
      await client.connect();
      await listen(client, this.#channel);
      this.#onWake();
    } catch (error) {
      const reason = (error as Error).message;
      this.#log.warn(
        { event: 'wake.not_listening', reason },
        'not woken by other processes; polling goes on',
      );
      await client.end().catch(() => {});
      this.#startLater();
    }
  }

  /** Twice is fine. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#client?.end().catch(() => {});
  }

  #startLater(): void {
    if (this.#isStopped) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.start(), reconnectMs);
  }
}
