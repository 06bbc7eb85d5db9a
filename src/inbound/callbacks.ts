import { type Backoff, backoffMs } from '../core/backoff.ts';
import type { Clock } from '../platform/clock.ts';
import type { Pool } from '../platform/db.ts';
import type { GuardedFetch } from '../platform/guarded-fetch.ts';
import type { Log } from '../platform/log.ts';
import { type Callback, claimCallbacks, finishCallback } from './signing-store.ts';

const lookEveryMs = 1_000;
const fetchMs = 10_000;
/** Longer than a fetch: what is taken and not finished by then belongs to a process that is gone. */
const againMs = 30_000;
const mostAtOnce = 5;
const mostAttempts = 10;
const backoff: Backoff = { firstMs: 10_000, mostMs: 600_000, jitter: 0.2 };

/**
 * Fetches the URLs by which subscriptions are confirmed (AWS SNS), from the queue: never while a sender waits, and again
 * until it succeeds. A fetch may happen twice; confirming twice does nothing.
 */
export class Callbacks {
  readonly #deps: { pool: Pool; fetch: GuardedFetch; clock: Clock; log: Log };
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor(deps: { pool: Pool; fetch: GuardedFetch; clock: Clock; log: Log }) {
    this.#deps = deps;
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.runOnce().catch(() => {}), lookEveryMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#deps.fetch.close();
    await this.#running?.catch(() => {});
  }

  /** One round; overlapping ones are left out. */
  async runOnce(): Promise<void> {
    this.#running ??= this.#round().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #round(): Promise<void> {
    const { pool, clock } = this.#deps;
    const due = await claimCallbacks(pool, { now: clock.now(), againMs, most: mostAtOnce });
    await Promise.all(due.map((callback) => this.#fetchOne(callback)));
  }

  async #fetchOne({ id, source, url, attempts }: Callback): Promise<void> {
    const { pool, clock, fetch, log } = this.#deps;
    const sent = await fetch.send({
      url,
      method: 'GET',
      headers: [['user-agent', 'posthorn']],
      body: Buffer.alloc(0),
      deadlineMs: fetchMs,
      mostAnswerBytes: 4_096,
    });
    const isDone = sent.ok && sent.status >= 200 && sent.status < 300;
    const status = isDone ? 'done' : attempts >= mostAttempts ? 'failed' : 'waiting';
    await finishCallback(pool, { id, status, nextAttemptAt: clock.now() + backoffMs(backoff, attempts) });
    const said = sent.ok ? `answered ${sent.status}` : sent.reason;
    if (isDone)
      log.info({ event: 'callback.done', source }, `confirmed the subscription of source ${source}`);
    else
      log.warn(
        { event: 'callback.failed', source, attempts, said },
        `the subscription of source ${source} could not be confirmed`,
      );
  }
}
