import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../core/errors.ts';
import { bringUp, type Held } from './bring-up.ts';
import type { Cluster } from './cluster.ts';
import {
  type EmbeddedConnection,
  maintenanceConnection,
  ownDatabase,
  readConnectionFile,
  writeConnectionFile,
} from './connection-file.ts';
import { explainFailure, explainFileError } from './explain.ts';
import { closeQuietly, createOwnDatabase, tryLock } from './lock-store.ts';
import { inspectPostmaster } from './postmaster.ts';
import type { Address } from './settings.ts';
import { stopPostmaster } from './start-postmaster.ts';

export type Backoff = { first: number; most: number };
type Options = { backoffMs: Backoff; patienceMs: number; onLost: (error: AppError) => void };

/** Holds the lock, and mends what breaks until it is stopped or another process holds the lock. */
export class Supervisor {
  readonly #cluster: Cluster;
  readonly #options: Options;
  readonly #stopping = new AbortController();
  readonly #sessionName = `posthorn-${process.pid}-${randomBytes(4).toString('hex')}`;
  #held: Held | undefined;
  #address: Address | undefined;
  #lost = false;
  #mending: Promise<void> = Promise.resolve();
  #stopped: Promise<void> | undefined;
  #backoffMs: number;
  #upSince = performance.now();

  constructor(cluster: Cluster, options: Options) {
    this.#cluster = cluster;
    this.#options = options;
    this.#backoffMs = options.backoffMs.first;
  }

  async start(): Promise<EmbeddedConnection> {
    const former = await readConnectionFile(this.#cluster.directory).catch(() => undefined);
    this.#address = former && { host: former.host, port: former.port };
    const held = await this.#bringUp();
    try {
      this.#address = held.address;
      await createOwnDatabase(held.client);
      const connection = await this.#publish(held);
      const event = held.started ? 'postgres.started' : 'postgres.taken_over';
      const message = held.started
        ? 'the embedded PostgreSQL runs'
        : 'a PostgreSQL that was still running is used';
      this.#cluster.log.info({ event, directory: this.#cluster.directory, ...held.address }, message);
      this.#hold(held);
      return connection;
    } catch (error) {
      await stopPostmaster(this.#cluster).finally(() => closeQuietly(held.client));
      const { directory, logFile } = this.#cluster;
      throw error instanceof AppError ? error : explainFailure(String(error), { directory, logFile });
    }
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#stopping.abort();
    await this.#mending;
    const owner = (await this.#stillHeld()) ?? (await this.#ownAgain());
    this.#held = undefined;
    if (!owner) return;
    // The lock goes with the last session: nobody can take over a postmaster that is about to stop.
    await stopPostmaster(this.#cluster).finally(() => closeQuietly(owner.client));
    this.#cluster.log.info(
      { event: 'postgres.stopped', directory: this.#cluster.directory },
      'PostgreSQL has stopped',
    );
  }

  async #stillHeld(): Promise<Held | undefined> {
    const held = this.#held;
    // Asking for a lock that the session has is free; a session that broke a moment ago answers nothing.
    return (
      held &&
      tryLock(held.client).then(
        (locked) => (locked ? held : undefined),
        () => undefined,
      )
    );
  }

  /** Stopped in the middle of mending: the postmaster is ours to stop only if nobody else has taken it. */
  async #ownAgain(): Promise<Held | undefined> {
    if (this.#lost || !(await this.#isThere())) return undefined;
    const signal = AbortSignal.timeout(this.#options.patienceMs);
    return this.#bringUp({ mayStart: false, signal }).catch(() => undefined);
  }

  #bringUp(how = { mayStart: true, signal: this.#stopping.signal }): Promise<Held> {
    const { patienceMs } = this.#options;
    return bringUp(this.#cluster, {
      sessionName: this.#sessionName,
      formerAddress: this.#address,
      patienceMs,
      ...how,
    });
  }

  async #publish({ address }: Held): Promise<EmbeddedConnection> {
    const connection = { ...(await maintenanceConnection(this.#cluster, address)), database: ownDatabase };
    await writeConnectionFile(this.#cluster, connection);
    return connection;
  }

  #hold(held: Held): void {
    this.#held = held;
    this.#upSince = performance.now();
    void held.closed.then(() => {
      if (this.#stopping.signal.aborted || this.#lost || this.#held !== held) return;
      this.#held = undefined;
      this.#mending = this.#mend();
    });
  }

  async #mend(): Promise<void> {
    if (performance.now() - this.#upSince > this.#options.backoffMs.most) {
      this.#backoffMs = this.#options.backoffMs.first;
    }
    let died = !(await this.#isThere());
    this.#logBreak(died);
    while (!this.#stopping.signal.aborted) {
      try {
        if (died) await this.#waitBackoff();
        return this.#resume(await this.#bringUp({ mayStart: died, signal: this.#stopping.signal }));
      } catch (error) {
        if (this.#stopping.signal.aborted) return;
        const reason = explainFileError(error, this.#cluster.directory);
        if (reason instanceof AppError && reason.code === 'NOT_RUNNING') {
          // Its connections ended a moment before it did.
          this.#logBreak(true);
          died = true;
        } else if (reason instanceof AppError && reason.code !== 'EMBEDDED_POSTGRES_FAILED') {
          return this.#lose(reason);
        } else {
          this.#cluster.log.error(
            { event: 'postgres.restart_failed', err: reason },
            'PostgreSQL is not back; trying on',
          );
          died = true;
        }
      }
    }
  }

  #logBreak(died: boolean): void {
    const event = died ? 'postgres.died' : 'postgres.lock_broken';
    const message = died
      ? 'PostgreSQL died and is started again'
      : 'the connection that holds the lock broke; it is taken again';
    this.#cluster.log.warn({ event, log: this.#cluster.logFile }, message);
  }

  async #isThere(): Promise<boolean> {
    const { state } = await inspectPostmaster(this.#cluster).catch(() => ({ state: 'absent' }));
    return state === 'living' || state === 'unknown';
  }

  async #waitBackoff(): Promise<void> {
    const delayMs = this.#backoffMs;
    this.#backoffMs = Math.min(delayMs * 2, this.#options.backoffMs.most);
    this.#cluster.log.info(
      { event: 'postgres.restart_delayed', delayMs },
      'PostgreSQL is started again after a wait',
    );
    await sleep(delayMs, undefined, { signal: this.#stopping.signal });
  }

  async #resume(held: Held): Promise<void> {
    const moved = held.address.host !== this.#address?.host || held.address.port !== this.#address.port;
    this.#hold(held);
    // It says what it said before; a disk that is full in this moment is no reason to let go.
    await this.#publish(held).catch((err) => {
      this.#cluster.log.warn(
        { event: 'postgres.port_file_failed', err },
        'connection.json could not be written',
      );
    });
    const event = held.started ? 'postgres.restarted' : 'postgres.lock_retaken';
    this.#cluster.log.info({ event, directory: this.#cluster.directory }, 'PostgreSQL is back');
    if (moved) this.#lose(movedAway(held.address));
  }

  #lose(error: AppError): void {
    if (this.#lost) return;
    this.#lost = true;
    this.#cluster.log.fatal({ event: 'postgres.lost', err: error }, error.message);
    this.#options.onLost(error);
  }
}

// The pools of this process were made for the former address, and a port may have gone to somebody else meanwhile.
function movedAway({ host, port }: Address): AppError {
  return new AppError(
    'EMBEDDED_POSTGRES_FAILED',
    `PostgreSQL died, and its port was taken when it came back; it now listens on ${host}:${port}: start Posthorn again.`,
  );
}
