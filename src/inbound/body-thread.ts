import type { KeyObject } from 'node:crypto';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Envelope } from '../core/envelope.ts';
import type { Log } from '../platform/log.ts';
import type { InspectBy, Inspected } from './inspect.ts';
import type { SourceConfig } from './settings.ts';

/** What the thread is asked: schemes are functions and cannot be sent, so the configuration goes instead. */
export type ThreadOrder = Omit<InspectBy, 'checks'> & {
  readonly config: SourceConfig;
  readonly keys: readonly (readonly KeyObject[])[];
  readonly envelope: Envelope;
};

const mostWaiting = 8;

/**
 * Inspects large bodies in a thread of its own: hashing and parsing many megabytes would let every other request wait. One
 * at a time, eight at most in all; beyond that the sender is asked to come back.
 */
export class BodyThread {
  readonly #log: Log;
  #worker: Worker | undefined;
  readonly #waiting: ((inspected: Inspected | 'busy') => void)[] = [];

  constructor({ log }: { log: Log }) {
    this.#log = log;
  }

  inspect(order: ThreadOrder): Promise<Inspected | 'busy'> {
    if (this.#waiting.length >= mostWaiting) return Promise.resolve('busy');
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#running().postMessage(order);
    });
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  /** Answers come in the order of the questions. */
  #running(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    const worker = new Worker(new URL(`./body-thread-entry${extname(import.meta.url)}`, import.meta.url));
    worker.unref();
    worker.on('message', (inspected: Inspected) => this.#waiting.shift()?.(inspected));
    worker.on('error', (error) => {
      this.#log.error(
        { event: 'body_thread.failed', reason: error.message },
        'a large body could not be inspected',
      );
    });
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = undefined;
      for (const resolve of this.#waiting.splice(0)) resolve('busy');
    });
    this.#worker = worker;
    return worker;
  }
}
