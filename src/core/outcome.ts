/** Closed lists: every expected outcome is one of these words and is switched on exhaustively. */

/** Why a signature does not hold. The sender never learns which; the journal does (SIG-12). */
export const verifyFailures = ['missing_signature', 'bad_signature', 'stale'] as const;
export type VerifyFailure = (typeof verifyFailures)[number];

/** Why a journal row is `rejected`. */
export const rejectReasons = [
  'too_large',
  'no_secret',
  ...verifyFailures,
  'bad_body',
  'no_event_id',
  'bad_event_id',
  'reused_token',
] as const;
export type RejectReason = (typeof rejectReasons)[number];

/** What `inbound/receive` answers for one request. */
export const receiveOutcomes = [
  'accepted',
  'duplicate',
  'skipped',
  'handshake',
  'handshake_refused',
  ...rejectReasons,
  'disabled',
  'unknown_source',
  'method_not_allowed',
  'unsupported_encoding',
  'unstorable',
  'unavailable',
  'aborted',
] as const;
export type ReceiveOutcome = (typeof receiveOutcomes)[number];

/** States of a journal row; the moves between them stand in inbound/index.ts and in the database. */
export const eventStatuses = [
  'accepted',
  'processing',
  'success',
  'failed',
  'rejected',
  'skipped',
  'quarantined',
  'handshake',
] as const;
export type EventStatus = (typeof eventStatuses)[number];

export const runStatuses = ['waiting', 'running', 'done', 'failed'] as const;
export type RunStatus = (typeof runStatuses)[number];

/** How one try of a handler ended. */
export const attemptOutcomes = ['done', 'failed', 'rejected', 'retry_later', 'timed_out', 'crashed'] as const;
export type AttemptOutcome = (typeof attemptOutcomes)[number];

/**
 * Why an outgoing request got no answer. `blocked` never says more: the URL may be anybody's (EGR-11). `network`: no
 * connection; `closed`: it ended before a status came; `no_http`: what came is no answer that can be read.
 */
export const sendFailures = ['blocked', 'timeout', 'network', 'tls', 'closed', 'no_http', 'aborted'] as const;
export type SendFailure = (typeof sendFailures)[number];

/** For the `default` of an exhaustive switch: does not compile while a case is missing. */
export function impossible(value: never): never {
  throw new Error(`unhandled case: ${String(value)}`);
}
