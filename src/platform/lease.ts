import { type Moment, moment, restOf } from './clock.ts';
import type { Pool } from './db.ts';
import { giveBackLeases, renewLeases, takeLease } from './lease-store.ts';
import type { Log } from './log.ts';

const leaseMs = 20_000;
/** A lease is believed for less than it lasts, counted from before its heartbeat was sent (OUT-6). */
const believedMs = 18_000;
const beatEveryMs = 5_000;
const lookEveryMs = 500;

/** What one process at a time may do: this one may, until `signal` aborts. */
export type Lease = {
  readonly name: string;
  /** Greater at every taking. Each write made under the lease names it, so that a late one changes nothing. */
  readonly epoch: number;
  /** Aborts when the lease was lost, given back, or cannot be believed any more. It is then never valid again. */
  readonly signal: AbortSignal;
  /** How long it may still be believed, in ms; 0 once `signal` has aborted. */
  restMs(): number;
  /** Gives it back, so that another process need not wait for its end. Twice is fine. */
  giveBack(): Promise<void>;
};

type Held = { name: string; epoch: number; abort: AbortController; believedFrom: Moment };

/**
 * The leases of one process. Heartbeats renew all of them in one statement; `pool` should be theirs alone, because a
 * busy one delays them beyond the lease.
 */
export class Leases {
  readonly #pool: Pool;
  readonly #holder: string;
  readonly #log: Log;
  readonly #held = new Map<string, Held>();
  #timers: NodeJS.Timeout[] = [];
  #beat: Promise<void> | undefined;

  constructor({ pool, holder, log }: { pool: Pool; holder: string; log: Log }) {
    this.#pool = pool;
    this.#holder = holder;
    this.#log = log;
  }

  start(): void {
    if (this.#timers.length > 0) return;
    this.#timers = [
      setInterval(() => void this.beat(), beatEveryMs),
      setInterval(() => this.dropUnbelieved(), lookEveryMs),
    ];
  }

  /** Gives every lease back. Twice is fine. */
  async stop(): Promise<void> {
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
    await this.#beat;
    await this.#giveBack([...this.#held.values()]);
  }

  /** Takes the lease if nobody else holds it. Throws if this process holds it already, or the database's error. */
  async take(name: string): Promise<Lease | undefined> {
    if (this.#held.has(name)) throw new Error(`this process holds the lease ${name} already`);
    const believedFrom = moment();
    const epoch = await takeLease(this.#pool, { name, holder: this.#holder, leaseMs });
    if (epoch === undefined) return undefined;
    const held: Held = { name, epoch, abort: new AbortController(), believedFrom };
    this.#held.set(name, held);
    return {
      name,
      epoch,
      signal: held.abort.signal,
      restMs: () => (held.abort.signal.aborted ? 0 : restOf(believedMs, held.believedFrom)),
      giveBack: () => this.#giveBack([held]),
    };
  }

  /** One heartbeat; one that is asked for while another runs joins that. Never rejects. */
  beat(): Promise<void> {
    this.#beat ??= this.#renew().finally(() => {
      this.#beat = undefined;
    });
    return this.#beat;
  }

  /** Ends the leases that were believed for too long. */
  dropUnbelieved(): void {
    const at = moment();
    for (const held of this.#held.values())
      if (restOf(believedMs, held.believedFrom, at) === 0)
        this.#lose(held, 'no heartbeat reached the database');
  }

  async #renew(): Promise<void> {
    const leases = [...this.#held.values()];
    if (leases.length === 0) return;
    const believedFrom = moment();
    try {
      const kept = await renewLeases(this.#pool, { holder: this.#holder, leases, leaseMs });
      for (const held of leases) {
        if (kept.has(held.name)) held.believedFrom = believedFrom;
        else if (this.#held.get(held.name) === held) this.#lose(held, 'another process took it');
      }
    } catch (error) {
      const reason = (error as Error).message;
      this.#log.warn({ event: 'lease.beat_failed', reason }, 'leases could not be renewed; trying again');
    }
  }

  #lose(held: Held, reason: string): void {
    this.#forget(held, new Error(`the lease ${held.name} was lost: ${reason}`));
    this.#log.warn({ event: 'lease.lost', lease: held.name, epoch: held.epoch, reason }, 'a lease was lost');
  }

  async #giveBack(leases: Held[]): Promise<void> {
    const mine = leases.filter((held) => this.#held.get(held.name) === held);
    if (mine.length === 0) return;
    for (const held of mine) this.#forget(held, new Error(`the lease ${held.name} was given back`));
    await giveBackLeases(this.#pool, { holder: this.#holder, leases: mine }).catch((error: Error) =>
      this.#log.warn(
        { event: 'lease.kept', reason: error.message },
        'leases could not be given back; they end by themselves within 20 s',
      ),
    );
  }

  #forget(held: Held, reason: Error): void {
    this.#held.delete(held.name);
    held.abort.abort(reason);
  }
}
