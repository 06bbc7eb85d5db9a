import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Backoff, backoffMs } from '../core/backoff.ts';
import { AppError } from '../core/errors.ts';
import type { Log } from '../platform/log.ts';
import type { MetricsSnapshot } from '../platform/metrics.ts';
import { throttle } from '../platform/wake.ts';
import { isFromWorker, type ToWorker, type WorkerOrder } from './worker-messages.ts';

const restartBackoff: Backoff = { firstMs: 1_000, mostMs: 30_000, jitter: 0.2 };
/** A child that has lived this long starts with the shortest wait again. */
const soundAfterMs = 60_000;
const watchEveryMs = 1_000;
/** Counted in looks, not in time: while this process itself was stopped, it could not hear the child either. */
const standsStillAfterLooks = 20;
const wakeEveryMs = 20;
const killAfterMs = 13_000;
/** In MB. Runs are short-lived: with V8's own 16 the worker takes more memory and is not faster. */
const semiSpace = '--max-semi-space-size=4';

const entry = fileURLToPath(new URL(`./worker-child${extname(import.meta.url)}`, import.meta.url));

/**
 * Keeps one worker child alive: starts it, starts it again when it died (1 s to 30 s later), kills it when its event
 * loop stood still, passes wakes on. A child that died gives up its leases at once, through `onDeath`.
 */
export class WorkerProcess {
  readonly #order: Omit<WorkerOrder, 'holder'>;
  readonly #log: Log;
  readonly #onDeath: (holder: string) => Promise<void>;
  #child: ChildProcess | undefined;
  #isReady = false;
  #isStopping = false;
  #problem: string | undefined;
  #failures = 0;
  #looksSinceBeat = 0;
  #watch: NodeJS.Timeout | undefined;
  #restart: NodeJS.Timeout | undefined;
  readonly #wakes = throttle(wakeEveryMs, () => this.#tell({ type: 'wake' }));
  #metrics: MetricsSnapshot | undefined;

  constructor(
    order: Omit<WorkerOrder, 'holder'>,
    deps: { log: Log; onDeath: (holder: string) => Promise<void> },
  ) {
    this.#order = order;
    this.#log = deps.log;
    this.#onDeath = deps.onDeath;
  }

  /** Why the worker is not ready, in words; undefined when it is. */
  get problem(): string | undefined {
    return this.#isReady ? undefined : (this.#problem ?? 'the worker is starting');
  }

  get metrics(): MetricsSnapshot | undefined {
    return this.#metrics;
  }

  /** Resolves when the first child takes work. Throws HANDLER_MODULE_INVALID if its handlers do not load. */
  start(): Promise<void> {
    this.#watch = setInterval(() => this.#killIfStill(), watchEveryMs);
    return new Promise((resolve, reject) => this.#spawn({ resolve, reject }));
  }

  /** Tells the worker that there may be work: the first of a burst at once, then at most one in 20 ms, the last always. */
  wake(): void {
    this.#wakes.wake();
  }

  /** Tells the worker whether ingest is under pressure. */
  judge(isPressed: boolean): void {
    this.#tell({ type: 'pressure', isPressed });
  }

  /** Lets handlers end within their grace, then ends the child. Twice is fine. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#watch);
    clearTimeout(this.#restart);
    this.#wakes.stop();
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    this.#tell({ type: 'stop' });
    const kill = setTimeout(() => child.kill('SIGKILL'), killAfterMs);
    await gone;
    clearTimeout(kill);
  }

  #spawn(first?: { resolve: () => void; reject: (error: Error) => void }): void {
    const holder = randomUUID();
    const child = fork(entry, [], { serialization: 'advanced', execArgv: [...process.execArgv, semiSpace] });
    const startedAt = performance.now();
    this.#child = child;
    this.#problem = undefined;
    this.#looksSinceBeat = 0;
    child.on('message', (message: unknown) => {
      if (!isFromWorker(message)) return;
      this.#looksSinceBeat = 0;
      if (message.type === 'beat') this.#metrics = message.metrics;
      else if (message.type === 'ready') {
        this.#isReady = true;
        first?.resolve();
      } else {
        this.#problem = message.message;
        first?.reject(new AppError(message.code, message.message));
        child.kill('SIGKILL');
      }
    });
    child.on('error', (error) => first?.reject(error));
    child.on('exit', (code, signal) => {
      this.#isReady = false;
      first?.reject(
        new AppError(
          'HANDLER_MODULE_INVALID',
          `The worker ended while it started (${signal ?? `exit code ${code}`}); see its output above.`,
        ),
      );
      if (!this.#isStopping)
        void this.#replace({ holder, code, signal, livedMs: performance.now() - startedAt });
    });
    this.#tell({ type: 'start', order: { ...this.#order, holder } });
  }

  async #replace(death: {
    holder: string;
    code: number | null;
    signal: string | null;
    livedMs: number;
  }): Promise<void> {
    this.#failures = death.livedMs > soundAfterMs ? 1 : this.#failures + 1;
    const waitMs = backoffMs(restartBackoff, this.#failures);
    const how = death.signal ?? `exit code ${death.code}`;
    this.#problem ??= `the worker ended (${how}) and is started again`;
    this.#log.error(
      { event: 'worker.died', how, waitMs },
      `the worker ended (${how}); it is started again in ${(waitMs / 1000).toFixed(1)} s`,
    );
    this.#restart = setTimeout(() => this.#spawn(), waitMs);
    await this.#onDeath(death.holder).catch((error: Error) => {
      this.#log.warn(
        { event: 'worker.leases_kept', reason: error.message },
        'the dead worker keeps its leases until they run out',
      );
    });
  }

  #killIfStill(): void {
    if (this.#child?.connected !== true || ++this.#looksSinceBeat < standsStillAfterLooks) return;
    this.#log.error(
      { event: 'worker.stood_still' },
      'the worker did not answer for 20 s: a handler blocks it; it is killed',
    );
    this.#looksSinceBeat = 0;
    this.#child.kill('SIGKILL');
  }

  #tell(message: ToWorker): void {
    if (this.#child?.connected === true) this.#child.send(message, () => {});
  }
}
