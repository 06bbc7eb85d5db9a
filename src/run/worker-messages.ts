import type { ErrorCode } from '../core/errors.ts';
import type { HandlerConfig, SourceConfig } from '../inbound/index.ts';
import type { DatabaseAddress } from '../platform/db.ts';
import type { LogLevel } from '../platform/log.ts';
import type { MetricsSnapshot } from '../platform/metrics.ts';

/** What parent and worker child say to each other over IPC. Connection and configuration travel here, never in argv. */
export type ToWorker =
  | { readonly type: 'start'; readonly order: WorkerOrder }
  | { readonly type: 'wake' }
  /** Sent every tenth of a second by a server that is a gateway too. */
  | { readonly type: 'pressure'; readonly isPressed: boolean }
  | { readonly type: 'stop' };

export type WorkerOrder = {
  readonly holder: string;
  readonly address: DatabaseAddress;
  /** For LISTEN; where it too is a pooler's, this worker polls. */
  readonly directAddress: DatabaseAddress;
  readonly logLevel: LogLevel;
  /** Its server accepts webhooks too: these go first where the cores are short. */
  readonly isBesideGateway: boolean;
  readonly sources: Readonly<Record<string, SourceConfig>>;
  /** Of the configuration file. */
  readonly folder: string;
  readonly dataDir: string;
  readonly handlers: readonly HandlerConfig[];
};

/** Marks our own messages: a handler shares the child's IPC channel and may send anything. */
export const workerMark = 'posthorn worker';

export type FromWorker =
  | { readonly type: 'ready' }
  | { readonly type: 'unusable'; readonly code: ErrorCode; readonly message: string }
  /** Sent every second: its absence means that the event loop stands still. */
  | { readonly type: 'beat'; readonly metrics: MetricsSnapshot };

/** The channel on which gateways tell workers that there may be new events. */
export const wakeChannel = 'posthorn_events';

export function isFromWorker(message: unknown): message is FromWorker {
  return (
    typeof message === 'object' && message !== null && (message as { mark?: unknown }).mark === workerMark
  );
}
