import type { Log } from '../platform/log.ts';

/** An accepted event whose runs a worker has just made. */
export type WebhookReceived = {
  readonly source: string;
  readonly eventId: string;
  readonly eventType: string | null;
};

/** A run that will not be tried again: rejected, out of attempts, deferred for too long, or its worker died each time. */
export type WebhookProcessingFailed = WebhookReceived & { readonly handler: string; readonly error: string };

type Events = { received: WebhookReceived; failed: WebhookProcessingFailed };

/** A listener that does not come back must not fill the memory. */
const mostOpenCalls = 1_000;

/**
 * What handler modules want to hear of, after the commit that made it so. Nothing waits for a listener: its failure is
 * logged and changes nothing, and a process that dies in between leaves one out.
 */
export class Listeners {
  readonly #log: Log;
  readonly #listeners: { [K in keyof Events]: ((event: Events[K]) => unknown)[] } = {
    received: [],
    failed: [],
  };
  #openCalls = 0;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Throws for what is no function. */
  add<K extends keyof Events>(kind: K, listener: (event: Events[K]) => unknown): void {
    if (typeof listener !== 'function') throw new Error(`on.${kind}() takes a function`);
    this.#listeners[kind].push(listener);
  }

  tell<K extends keyof Events>(kind: K, event: Events[K]): void {
    for (const listener of this.#listeners[kind]) void this.#call(kind, listener, event);
  }

  async #call<K extends keyof Events>(kind: K, listener: (event: Events[K]) => unknown, event: Events[K]) {
    const { source, eventId } = event;
    if (this.#openCalls >= mostOpenCalls) {
      this.#log.warn(
        { event: 'listener.left_out', kind, source, eventId },
        `on.${kind} was left out: ${mostOpenCalls} calls of listeners have not come back`,
      );
      return;
    }
    this.#openCalls += 1;
    try {
      await listener(event);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#log.warn({ event: 'listener.failed', kind, source, eventId, reason }, `on.${kind} failed`);
    } finally {
      this.#openCalls -= 1;
    }
  }
}
