import type { Log } from '../platform/log.ts';

/** What has been started and how to stop it: stopping goes in reverse order, once, and goes on after a failure. */
export class StopStack {
  readonly #log: Log;
  readonly #steps: { name: string; stop: () => Promise<unknown> | unknown }[] = [];
  #stopped: Promise<void> | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  push(name: string, stop: () => Promise<unknown> | unknown): void {
    this.#steps.push({ name, stop });
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stopAll();
    return this.#stopped;
  }

  async #stopAll(): Promise<void> {
    for (const { name, stop } of this.#steps.reverse()) {
      try {
        await stop();
      } catch (error) {
        this.#log.error(
          { event: 'stop.failed', part: name, reason: (error as Error).message },
          `${name} did not stop cleanly`,
        );
      }
    }
  }
}
