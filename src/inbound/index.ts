/**
 * Inbound: what is acknowledged is journaled, once, and every handler of it runs.
 *
 *   request -> http -> receive (the ladder) -> journal (group commit) ~db~> plan, work (child process) -> the handler
 *
 * States of an event (posthorn.events.status; the database refuses every other move):
 *
 *   accepted --> processing --> success          rejected, handshake: final, hold no event id
 *      |             |   ^
 *      |             v   | (a new replay)
 *      |          failed-+
 *      +--> skipped, quarantined (a replay takes them to processing)
 *
 * Invariants: a 2xx means a committed row; one row per (source, event id); what nobody verified never holds an
 * event id; the bytes are stored as they came; a `tx` handler's effect and its mark are one commit; every mark names
 * the epoch of its claim. Lock order: run, then event.
 * Not here: rate limits, replay, retention, filters and schemas of sources.
 */
export { BodyBudget } from './body-budget.ts';
export { BodyThread } from './body-thread.ts';
export { Callbacks } from './callbacks.ts';
export { Certificates } from './certificates.ts';
export {
  type EventDetail,
  type EventLine,
  findEvent,
  listEvents,
} from './event-store.ts';
export { createFileHandlers, type FileHandlers } from './file-handlers.ts';
export { HandedSecrets } from './handed-secrets.ts';
export { forgetHandedSecret, showHandedSecret } from './handed-secrets-store.ts';
export { handlerFileComplaints } from './handler-files.ts';
export { type HandlerConfig, handlersSchema } from './handler-settings.ts';
export {
  type Handler,
  type HandlerContext,
  type HandlerEvent,
  loadHandlers,
  type Register,
} from './handlers.ts';
export { createInboundHttp, type InboundHttp, type InboundMetrics } from './http.ts';
export { type Journal, type JournalMetrics, JournalWriter } from './journal.ts';
export { registerSources } from './journal-store.ts';
export { type JournalTail, startTail } from './journal-tail.ts';
export { Listeners, type WebhookProcessingFailed, type WebhookReceived } from './listeners.ts';
export { type Arrival, createReceive, type Receipt, type Receive } from './receive.ts';
export { expireLeases, planMarks } from './run-store.ts';
export {
  type InboundGroup,
  inboundGroupSchema,
  type SourceConfig,
  sourcesSchema,
} from './settings.ts';
export { addCallback, useToken } from './signing-store.ts';
export { createSourceKeys, makeMissingSecrets, type SourceKeys, secretComplaints } from './source-keys.ts';
export { createSources, providerOf, type Source, type Sources, schemeOf } from './sources.ts';
export type { WorkMetrics } from './work.ts';
export { createInboundWorker, type InboundWorker } from './worker.ts';
