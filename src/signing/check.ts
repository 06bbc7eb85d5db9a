import type { KeyObject } from 'node:crypto';
import type { Envelope } from '../core/envelope.ts';
import type { VerifyFailure } from '../core/outcome.ts';

/** What `verify` says of a request. `timestamp` is milliseconds since 1970, absent where the scheme signs none. */
export type Verdict =
  | { readonly ok: true; readonly timestamp?: number; readonly secretIndex: number }
  | { readonly ok: false; readonly reason: VerifyFailure };

export const missing: Verdict = { ok: false, reason: 'missing_signature' };
export const bad: Verdict = { ok: false, reason: 'bad_signature' };
export const stale: Verdict = { ok: false, reason: 'stale' };

/** What the user of a scheme says once about itself; each scheme looks at what it needs. */
export type SchemeOptions = {
  /** The URL as registered at the sender, for senders that sign it. Never built from the request: a proxy changes it. */
  readonly publicUrl?: string | undefined;
  /** PayPal: the id of the webhook, which is part of what is signed. */
  readonly webhookId?: string | undefined;
  /** AWS SNS: the topics whose messages are taken; all where it is left out. */
  readonly topics?: readonly string[] | undefined;
  /** GitLab's signing token: whether what follows its prefix is text or base64. */
  readonly key?: 'text' | 'base64' | undefined;
  /** Networks of the sender, for a scheme that goes by them; without it those that the sender publishes. */
  readonly networks?: readonly string[] | undefined;
};

/** What a check may look at beside the envelope. */
export type CheckContext = {
  /** Half the width of the window around `receivedAt`, both ends inclusive. */
  readonly toleranceSeconds: number;
  /** The parsed body, or undefined where it cannot be parsed within the bounds. Parsed at the first call. */
  readonly payload: () => unknown;
  /** The address of the sender; null or absent where it is unknown. */
  readonly clientIp?: string | null | undefined;
};

/** A request in the making, as the sender would send it. */
export type Draft = {
  readonly method: string;
  /** The query that goes with it, without the question mark. */
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
};

/** With what a draft is signed. `key` is a secret's text, or a private key where the sender holds one. */
export type Signer = {
  readonly key: string | KeyObject;
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
};

/**
 * One way to tell a true sender from others: a family of schemes with its settings filled in. `judge` never throws,
 * whatever the bytes and headers (SIG-2), and looks at nothing but its arguments.
 */
export type Check = {
  /** False where the proof is no secret of ours: a certificate, an address, nothing. */
  readonly needsSecret: boolean;
  /** True where anybody passes. */
  readonly provesNothing?: boolean;
  /** Whether the proof stands in the body, which then is parsed before it is known to be true (SIG-13). */
  readonly readsBody: boolean;
  /** Names of headers, in lower case, whose values no journal keeps. */
  readonly secretHeaders: readonly string[];
  /** Where the signed timestamp stands, if one is signed. */
  readonly hasTimestamp: boolean;
  /** Whether the id of the event is part of what is signed. */
  readonly signsId: boolean;
  /** What is wrong with a secret, as an ending of "the secret in <place> ...", or undefined. Never the secret. */
  secretProblem(text: string): string | undefined;
  /** The key of a secret, or undefined where the text cannot be one. */
  keyOf(text: string): KeyObject | undefined;
  judge(envelope: Envelope, keys: readonly KeyObject[], context: CheckContext): Verdict;
  /** Adds to a draft what its sender adds. Throws where the key is of another kind. */
  sign(draft: Draft, signer: Signer): Draft;
  /** The address of the certificate that the request names, 'bad' where it is not the sender's; for rsa-cert alone. */
  certificateUrl?(envelope: Envelope, payload: unknown): string | 'bad' | undefined;
};

/** A verdict that holds if `timestamp` (milliseconds) lies within the window. */
export function withinWindow(
  timestamp: number | undefined,
  secretIndex: number,
  { receivedAt, toleranceSeconds }: { receivedAt: number; toleranceSeconds: number },
): Verdict {
  if (timestamp === undefined) return { ok: true, secretIndex };
  // Written so that a time that is no number fails.
  if (!(Math.abs(receivedAt - timestamp) <= toleranceSeconds * 1000)) return stale;
  return { ok: true, secretIndex, timestamp };
}
