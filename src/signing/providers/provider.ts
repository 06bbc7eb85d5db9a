import type { HmacCheck } from '../hmac.ts';
import type { SchemeDescription } from '../scheme.ts';

/** The ways in which senders try a URL before they use it; each is answered by inbound/handshakes. */
export const handshakeNames = [
  'asana',
  'bitbucket',
  'discord',
  'dropbox',
  'intercom',
  'meta',
  'microsoft',
  'monday',
  'notion',
  'okta',
  'slack',
  'sns',
  'strava',
  'trello',
  'twitch',
  'woocommerce',
  'x',
  'zoom',
] as const;
export type HandshakeName = (typeof handshakeNames)[number];

/** What is answered to a webhook that was taken, where 200 without a body is not it. */
export type Reply = { readonly status: number; readonly contentType?: string; readonly body?: string };

/** What is known of a sender: how it signs and how it behaves. */
export type Provider = {
  readonly title: string;
  readonly scheme: SchemeDescription;
  /** Options of a source that this sender cannot do without. */
  readonly needs?: readonly ('publicUrl' | 'webhookId' | 'topics' | 'verifyToken')[];
  readonly handshake?: HandshakeName;
  readonly reply?: Reply;
  /** For how long the sender repeats by itself what was not taken. */
  readonly retries: 'none' | 'hours' | 'days';
  /** Half the width of the window; wins over the general setting. Wide where a repetition may carry its first time. */
  readonly toleranceSeconds?: number;
  /** Bodies that this sender is known to send, in KiB; wins over the general setting. */
  readonly maxPayloadKb?: number;
  /** Event types that say nothing about the user's data: journaled as `skipped`, never handled. */
  readonly skippedTypes?: readonly string[];
  /** Fields of the body whose values are credentials: not part of what a page shows. */
  readonly redact?: readonly string[];
  /** The encodings in which it may send a body, and whether it signs what is on the wire (`packed`). */
  readonly encodings?: {
    readonly names: readonly ('gzip' | 'br' | 'deflate')[];
    readonly signed: 'packed' | 'unpacked';
  };
};

export type Providers = Readonly<Record<string, Provider>>;

/** The most common check: HMAC-SHA256 in hexadecimal over the body. */
export function hmac(header: string, rest: Partial<HmacCheck> = {}): HmacCheck {
  return { family: 'hmac', hash: 'sha256', header, encoding: 'hex', signed: '{body}', ...rest };
}

/** A sender that never repeats is not refused for its rate: it is accepted and queued up to this many a minute. */
export const rateOfOneShotSenders = 6_000;
