import { createHash, type KeyObject } from 'node:crypto';
import type { Envelope } from '../core/envelope.ts';
import type { RejectReason } from '../core/outcome.ts';
import { identify, itemsOf, parseBody, type Scheme, usedToken, verify } from '../signing/index.ts';

/** A check with the keys that hold for it now. */
export type Keyed = { readonly scheme: Scheme; readonly keys: readonly KeyObject[] };

/** What a body is inspected by. The first check is the source's own; all must hold. */
export type InspectBy = {
  readonly checks: readonly [Keyed, ...Keyed[]];
  readonly toleranceSeconds: number;
  readonly clientIp: string | null;
  readonly dedupesByBody: boolean;
  /** The body as it is to be read, where its sender signs what was packed on the wire. */
  readonly content?: Buffer | undefined;
};

export type Inspected =
  | { readonly ok: false; readonly reason: RejectReason }
  | {
      readonly ok: true;
      readonly eventId: { value: string } | 'absent' | 'bad';
      /** The sender's own id where the event's is another. */
      readonly senderEventId: string | null;
      readonly eventType: string | null;
      /** Ids of the events inside, where the sender sends several at once. */
      readonly itemIds: readonly string[] | null;
      /** The token that must not come again with another body, where that is all that is signed. */
      readonly usedToken: string | null;
      readonly payload: unknown;
    };

/**
 * Gates 6 to 10 of the ladder over one body: whether every check holds, whether the body is sound, which event it is. Pure,
 * so that a thread can do it for large bodies. Never throws.
 */
export function inspect(envelope: Envelope, by: InspectBy): Inspected {
  const [{ scheme }] = by.checks;
  const read = by.content === undefined ? envelope : { ...envelope, body: by.content };
  let parsed: ReturnType<typeof parseBody> | undefined;
  const parse = () => {
    parsed ??= parseBody(read, scheme.body);
    return parsed;
  };
  const payload = () => {
    const result = parse();
    return result === 'bad_body' ? undefined : result.payload;
  };
  for (const { scheme: check, keys } of by.checks) {
    const verdict = verify(envelope, check, keys, { ...by, payload });
    if (!verdict.ok) return { ok: false, reason: verdict.reason };
  }
  if (parse() === 'bad_body') return { ok: false, reason: 'bad_body' };
  const { eventId, eventType } = identify(read, scheme, payload());
  const ownId = typeof eventId === 'object' ? eventId.value : null;
  const digest = by.dedupesByBody ? { value: createHash('sha256').update(read.body).digest('hex') } : eventId;
  const { items, check } = scheme.description;
  return {
    ok: true,
    eventId: digest,
    senderEventId: by.dedupesByBody ? ownId : null,
    eventType,
    itemIds: items === undefined ? null : itemsOf(scheme, payload()).map(({ id }) => id),
    usedToken: check.family === 'mailgun-body' ? usedToken(payload()) : null,
    payload: payload(),
  };
}
