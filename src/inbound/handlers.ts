import { resolve } from 'node:path';
import { AppError } from '../core/errors.ts';
import type { AttemptOutcome } from '../core/outcome.ts';
import type { Log } from '../platform/log.ts';
import { failureOfModule, loadUserModule } from '../platform/user-module.ts';
import { type HandlerConfig, mostTimeoutMs } from './handler-settings.ts';
import { Listeners, type WebhookProcessingFailed, type WebhookReceived } from './listeners.ts';

/** What a handler is told; headers and body are loaded when it asks. */
export type HandlerEvent = {
  /** Id of the journal row. */
  readonly id: number;
  /** The same for all tries of this handler on this event (`:r<n>` at its end for the n-th replay): an idempotency key. */
  readonly runId: string;
  readonly source: string;
  readonly eventId: string;
  readonly eventType: string | null;
  readonly receivedAt: Date;
  readonly site: string | null;
  /** 0 for the first run, n for the n-th replay. */
  readonly replay: number;
  /** 1 for the first try. */
  readonly attempt: number;
  /** In order, repeated names kept, secrets redacted. */
  headers(): Promise<[name: string, value: string][]>;
  /** The bytes that arrived. */
  body(): Promise<Buffer>;
  /** The parsed body; of a form an object of its fields. */
  json(): Promise<unknown>;
  /**
   * The events inside, where the sender puts several into one request (Adyen, SendGrid, HubSpot, ...), in their order; none
   * for other senders. One request is one event here: this splits it.
   */
  items(): Promise<HandlerItem[]>;
};

export type HandlerItem = {
  /** The sender's own id of the item, or a digest of it. */
  readonly id: string;
  readonly type: string | null;
  readonly payload: unknown;
  /** The id (of the journal row) of the first earlier event that held this item; null where this is the first. */
  readonly seenIn: number | null;
};

export type HandlerContext = {
  /** A transaction on posthorn's database that begins at its first query; it commits together with the "done" mark. */
  readonly tx: {
    query(
      sql: string,
      params?: unknown[],
    ): Promise<{ rows: Record<string, unknown>[]; rowCount: number | null }>;
  };
  /** Aborts at the time-out, when the worker stops, and when the run was lost to another worker. */
  readonly signal: AbortSignal;
  readonly log: Log;
  /** Return or throw this to be called again after `afterMs`; uses up no attempt, but ends after 24 hours. Just called, it counts all the same. */
  retryLater(afterMs: number): HandlerVerdict;
  /** Return or throw this to fail at once, without another try. Just called, it counts all the same. */
  reject(reason: string): HandlerVerdict;
};

export type HandlerFunction = (event: HandlerEvent, context: HandlerContext) => unknown;

export type HandlerOptions = { name?: string; concurrency?: number; timeoutMs?: number; maxDeaths?: number };

export type Handler = {
  readonly name: string;
  readonly source: string;
  /** Patterns of event types; one that fits is enough. */
  readonly patterns: readonly string[];
  /** Runs at once, in the whole cluster. */
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly maxDeaths: number;
  readonly run: HandlerFunction;
};

/**
 * An answer that says more than a return or a throw: what `retryLater` and `reject` make, and how http and exec handlers
 * end. No error, so that it is never mistaken for one.
 */
export class HandlerVerdict {
  readonly kind: Exclude<AttemptOutcome, 'crashed'>;
  readonly afterMs: number;
  readonly reason: string;
  /** What the handler said, shown with the try. */
  readonly output: string | undefined;

  constructor(
    kind: HandlerVerdict['kind'],
    { afterMs = 0, reason = '', output }: { afterMs?: number; reason?: string; output?: string } = {},
  ) {
    this.kind = kind;
    this.afterMs = afterMs;
    this.reason = reason;
    this.output = output;
  }
}

/** The function that a handler module's default export is called with. */
export type Register = {
  (source: string, pattern: string, run: HandlerFunction): void;
  (source: string, pattern: string, options: HandlerOptions, run: HandlerFunction): void;
  /** Calls `listener` when an event got its handlers' runs. Best effort: whoever needs every event is a handler. */
  received(listener: (event: WebhookReceived) => unknown): void;
  /** Calls `listener` when a run is over without being done. Best effort. */
  failed(listener: (event: WebhookProcessingFailed) => unknown): void;
};

export type LoadedHandlers = { readonly handlers: Handler[]; readonly listeners: Listeners };

/**
 * Loads every handler module of the configuration and joins it with the handlers of the file. Throws
 * HANDLER_MODULE_INVALID with all problems: a module that does not load, a registration that makes no sense, a source
 * that is not configured, two handlers of one name.
 */
export async function loadHandlers(
  configs: readonly HandlerConfig[],
  { sourceCodes, folder, log, fromFile }: LoadOptions,
): Promise<LoadedHandlers> {
  const handlers: Handler[] = [...fromFile];
  const listeners = new Listeners(log);
  const problems: string[] = [];
  for (const config of configs) {
    if (config.module === undefined) continue;
    const path = resolve(folder, config.module);
    try {
      const register = await loadModule(path);
      await register(registerInto({ handlers, listeners }, config.name));
    } catch (error) {
      const { place, message } = failureOfModule(path, error);
      problems.push(`handler ${config.name} (${place}): ${message}`);
    }
  }
  for (const [index, handler] of handlers.entries())
    problems.push(...problemsOf(handler, handlers.slice(0, index), sourceCodes));
  problems.push(...handlers.slice(fromFile.length).flatMap(optionProblemsOf));
  if (problems.length > 0) {
    throw new AppError(
      'HANDLER_MODULE_INVALID',
      `The handlers cannot be used:\n${problems.map((line) => `  ${line}`).join('\n')}`,
    );
  }
  return { handlers, listeners };
}

export type LoadOptions = {
  readonly sourceCodes: readonly string[];
  /** Of the configuration file: paths in it are relative to that. */
  readonly folder: string;
  readonly log: Log;
  /** Those that the file describes without a module. */
  readonly fromFile: readonly Handler[];
};

async function loadModule(path: string): Promise<(on: Register) => unknown> {
  const loaded = await loadUserModule(path);
  if (typeof loaded.default !== 'function') {
    throw new Error(
      'its default export is no function; write: export default (on) => { on("github", "push", async (event) => { ... }) }',
    );
  }
  return loaded.default as (on: Register) => unknown;
}

function registerInto(into: LoadedHandlers, moduleName: string): Register {
  const on = (
    source: string,
    pattern: string,
    ...rest: [HandlerFunction] | [HandlerOptions, HandlerFunction]
  ) => {
    const run = rest.at(-1);
    const options: HandlerOptions = rest.length > 1 ? (rest[0] as HandlerOptions) : {};
    if (typeof source !== 'string' || typeof pattern !== 'string' || typeof run !== 'function') {
      throw new Error('on() takes (source, pattern, handler) or (source, pattern, options, handler)');
    }
    into.handlers.push({
      name: options.name ?? `${moduleName}/${source}/${pattern}`,
      source,
      patterns: [pattern],
      concurrency: options.concurrency ?? 10,
      timeoutMs: options.timeoutMs ?? 60_000,
      maxDeaths: options.maxDeaths ?? 3,
      run: run as HandlerFunction,
    });
  };
  return Object.assign(on, {
    received: (listener: (event: WebhookReceived) => unknown) => into.listeners.add('received', listener),
    failed: (listener: (event: WebhookProcessingFailed) => unknown) => into.listeners.add('failed', listener),
  });
}

function problemsOf(handler: Handler, before: readonly Handler[], sourceCodes: readonly string[]): string[] {
  const problems: string[] = [];
  const wrong = (what: string) => problems.push(`handler ${handler.name}: ${what}`);
  if (!sourceCodes.includes(handler.source))
    wrong(`source ${handler.source} is not configured; add it under sources or correct the name`);
  if (handler.name.length > 200)
    wrong('its name has more than 200 characters; give it a shorter one with {name}');
  if (before.some(({ name }) => name === handler.name))
    wrong('its name is used twice; give one of them another with {name}');
  return problems;
}

/** The file's own handlers were judged with the file. */
function optionProblemsOf(handler: Handler): string[] {
  const problems: string[] = [];
  const wrong = (what: string) => problems.push(`handler ${handler.name}: ${what}`);
  if (!isWhole(handler.concurrency, 1, 1_000)) wrong('concurrency must be a whole number from 1 to 1000');
  if (!isWhole(handler.timeoutMs, 1, mostTimeoutMs))
    wrong('timeoutMs must be a whole number from 1 to 86400000 (a day)');
  if (!isWhole(handler.maxDeaths, 1, 1_000_000)) wrong('maxDeaths must be a whole number from 1');
  return problems;
}

function isWhole(value: unknown, least: number, most: number): boolean {
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
}
