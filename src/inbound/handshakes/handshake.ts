import type { KeyObject } from 'node:crypto';
import type { Envelope } from '../../core/envelope.ts';
import type { Reply } from '../../signing/index.ts';

/** What a request turns out to be when it is part of a handshake. */
export type Shake = {
  readonly reply: Reply & { readonly headers?: readonly (readonly [string, string])[] };
  /** The secret that the sender hands over: it is stored before the answer is given. */
  readonly secret?: string;
  /** A URL of the sender's that has to be fetched to confirm; done from the queue. */
  readonly callback?: string;
};

/** 'refused': it is the handshake, but without the proof that it needs (403). Undefined: it is none. */
export type ShakeResult = Shake | 'refused' | undefined;

export type ShakeContext = {
  readonly envelope: Envelope;
  /** The parsed body, undefined where it does not parse. */
  readonly payload: () => unknown;
  /** Keys of the scheme that hold now; none while the source is pending. */
  readonly keys: readonly KeyObject[];
  readonly verifyTokens: readonly KeyObject[];
};

/** How one sender tries a URL before it uses it. Everything that is not named here is an ordinary request. */
export type Handshake = {
  /** Methods but POST that it needs. */
  readonly methods: readonly string[];
  /** Judged before the signature, as these requests carry none. */
  readonly unsigned?: (context: ShakeContext) => ShakeResult;
  /** Judged after the signature has been found right, or while the source has no secret yet. */
  readonly signed?: (context: ShakeContext) => ShakeResult;
};

export const empty: Shake = { reply: { status: 200 } };

/** A challenge is repeated as plain text that no browser takes for a page. */
export function plain(text: string): Shake {
  return { reply: { status: 200, contentType: 'text/plain; charset=utf-8', body: text } };
}

export function json(value: object): Shake {
  return { reply: { status: 200, contentType: 'application/json', body: JSON.stringify(value) } };
}

/** A challenge that is repeated: printable ASCII of a bounded length, so that nobody uses us as a mirror. */
export function isChallenge(value: unknown, most = 500): value is string {
  return typeof value === 'string' && value.length <= most && /^[\x20-\x7e]+$/.test(value);
}
