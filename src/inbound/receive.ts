import type { ArrivalWay, Envelope } from '../core/envelope.ts';
import { firstHeader } from '../core/headers.ts';
import { impossible, type ReceiveOutcome, type RejectReason } from '../core/outcome.ts';
import { cleanText } from '../core/text.ts';
import { claimedEventId, identify, verify } from '../signing/index.ts';
import type { Journal, JournalRow } from './journal.ts';
import { parseJsonBody } from './json-body.ts';
import { headersForJournal, queryForJournal } from './redact.ts';
import type { InboundGroup } from './settings.ts';
import type { Source, Sources } from './sources.ts';

/** A request whose head has arrived. The body is read only when the gates before it have passed. */
export type Arrival = Omit<Envelope, 'body'> & {
  /** The code of the source, as the sender named it. */
  readonly source: string;
  readonly via: ArrivalWay;
  /** The sender's address, null where it is unknown. */
  readonly clientIp: string | null;
  /** Reads at most `mostBytes`; `busy` where there is no memory left for it. */
  readBody(mostBytes: number): Promise<Buffer | 'too_large' | 'busy' | 'aborted'>;
};

export type Receive = (arrival: Arrival) => Promise<ReceiveOutcome>;

/**
 * The one door into the journal: the ladder of IN-1, each gate with its own answer. An outcome that acknowledges
 * (`accepted`, `duplicate`, `skipped`) is given only after the row is committed. No handler's code and no call
 * to anywhere but the journal happens in here.
 */
export function createReceive(deps: { group: InboundGroup; sources: Sources; journal: Journal }): Receive {
  const { group, sources, journal } = deps;
  return async function receive(arrival) {
    if (!group.enabled) return 'disabled';
    const source = sources.find(arrival.source, arrival.clientIp);
    if (source === undefined) return 'unknown_source';
    if (arrival.method !== 'POST') return 'method_not_allowed';
    if (firstHeader(arrival.rawHeaders, 'content-encoding') !== undefined) return 'unsupported_encoding';
    const body = await arrival.readBody(source.maxBodyBytes);
    if (body === 'aborted') return 'aborted';
    if (body === 'busy') return 'unavailable';

    const verdict = judge(arrival, source, body);
    const recorded = await journal.record(rowOf(arrival, source, verdict));
    if ('reason' in verdict) return verdict.reason;
    switch (recorded) {
      case 'recorded':
        return verdict.skip === null ? 'accepted' : 'skipped';
      case 'duplicate':
      case 'unstorable':
      case 'unavailable':
        return recorded;
      default:
        return impossible(recorded);
    }
  };
}

/** What the gates that look at the body decided; `body` is what the journal keeps of it. */
type Judgement =
  | {
      readonly reason: RejectReason;
      readonly body: Buffer;
      readonly size: number;
      readonly claimed: string | null;
    }
  | {
      readonly eventId: string;
      readonly eventType: string | null;
      readonly skip: string | null;
      readonly body: Buffer;
    };

/** A rejected body that does not parse is kept in part: enough to see what it is. */
const badBodyKeptBytes = 4_096;
const nothing = Buffer.alloc(0);

function judge(arrival: Arrival, source: Source, body: Buffer | 'too_large'): Judgement {
  const reject = (reason: RejectReason, kept: Buffer, size = kept.length): Judgement => {
    return { reason, body: kept, size, claimed: claimedEventId(arrival.rawHeaders, source.scheme) };
  };
  if (body === 'too_large') return reject('too_large', nothing);

  const { method, query, rawHeaders, receivedAt } = arrival;
  const envelope: Envelope = { method, query, rawHeaders, body, receivedAt };
  const keys = source.keys();
  if (keys.length === 0) return reject('no_secret', body);
  const verdict = verify(envelope, source.scheme, keys, source);
  if (!verdict.ok) return reject(verdict.reason, body);

  const parsed = parseJsonBody(body);
  if (parsed === 'bad_body') return reject('bad_body', body.subarray(0, badBodyKeptBytes), body.length);
  const { eventId, eventType } = identify(envelope, source.scheme, parsed.payload);
  if (eventId === 'absent') return reject('no_event_id', body);
  if (eventId === 'bad') return reject('bad_event_id', body);
  const skip = eventType !== null && source.skippedTypes.has(eventType) ? eventType : null;
  return { eventId: eventId.value, eventType, skip, body };
}

/** The journal row of a judged request. A rejected one never holds the event id (IN-4). */
function rowOf(arrival: Arrival, source: Source, verdict: Judgement): JournalRow {
  const contentType = firstHeader(arrival.rawHeaders, 'content-type');
  const arrived = {
    source: source.id,
    site: source.site,
    receivedAt: arrival.receivedAt,
    via: arrival.via,
    clientIp: arrival.clientIp,
    method: arrival.method,
    query: cleanText(queryForJournal(arrival.query), 16_384),
    headers: headersForJournal(arrival.rawHeaders, source.scheme.header),
    contentType: contentType === undefined ? null : cleanText(contentType),
    body: verdict.body,
  };
  if ('reason' in verdict) {
    const { reason, size, claimed } = verdict;
    const claimedEventId = claimed === null ? null : cleanText(claimed);
    return { ...arrived, size, status: 'rejected', reason, eventId: null, claimedEventId, eventType: null };
  }
  const { eventId, eventType, skip } = verdict;
  const status = skip === null ? 'accepted' : 'skipped';
  return {
    ...arrived,
    size: verdict.body.length,
    status,
    reason: skip,
    eventId,
    claimedEventId: null,
    eventType,
  };
}
