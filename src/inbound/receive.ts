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

    const judgement = judge(arrival, source, body);
    const recorded = await journal.record(rowOf(arrival, source, judgement));
    // A refusal stays one whether or not its row could be written: nothing is acknowledged by it.
    if (judgement.status === 'rejected') return judgement.reason;
    switch (recorded) {
      case 'recorded':
        return judgement.status;
      case 'duplicate':
      case 'unstorable':
      case 'unavailable':
        return recorded;
      default:
        return impossible(recorded);
    }
  };
}

/** What the gates that look at the body decided, as the columns of the journal row. */
type Judgement =
  | (Columns & { readonly status: 'rejected'; readonly reason: RejectReason })
  | (Columns & { readonly status: 'accepted' | 'skipped'; readonly reason: string | null });

type Columns = Pick<JournalRow, 'eventId' | 'claimedEventId' | 'eventType' | 'size' | 'body'>;

/** A rejected body that does not parse is kept in part: enough to see what it is. */
const badBodyKeptBytes = 4_096;
const nothing = Buffer.alloc(0);

function judge(arrival: Arrival, source: Source, body: Buffer | 'too_large'): Judgement {
  if (body === 'too_large') return reject('too_large', nothing, { arrival, source });
  const { method, query, rawHeaders, receivedAt } = arrival;
  const envelope: Envelope = { method, query, rawHeaders, body, receivedAt };
  const keys = source.keys();
  if (keys.length === 0) return reject('no_secret', body, { arrival, source });
  const verdict = verify(envelope, source.scheme, keys, source);
  if (!verdict.ok) return reject(verdict.reason, body, { arrival, source });
  const parsed = parseJsonBody(body);
  if (parsed === 'bad_body') return reject('bad_body', body, { arrival, source });
  const { eventId, eventType } = identify(envelope, source.scheme, parsed.payload);
  if (eventId === 'absent') return reject('no_event_id', body, { arrival, source });
  if (eventId === 'bad') return reject('bad_event_id', body, { arrival, source });
  const isSkipped = eventType !== null && source.skippedTypes.has(eventType);
  return {
    status: isSkipped ? 'skipped' : 'accepted',
    reason: isSkipped ? eventType : null,
    eventId: eventId.value,
    claimedEventId: null,
    eventType,
    size: body.length,
    body,
  };
}

/** A rejected row never holds the event id: what nobody verified is kept apart (IN-4). */
function reject(reason: RejectReason, body: Buffer, of: { arrival: Arrival; source: Source }): Judgement {
  const claimed = claimedEventId(of.arrival.rawHeaders, of.source.scheme);
  return {
    status: 'rejected',
    reason,
    eventId: null,
    claimedEventId: claimed === null ? null : cleanText(claimed),
    eventType: null,
    size: body.length,
    body: reason === 'bad_body' ? body.subarray(0, badBodyKeptBytes) : body,
  };
}

function rowOf(arrival: Arrival, source: Source, judgement: Judgement): JournalRow {
  const contentType = firstHeader(arrival.rawHeaders, 'content-type');
  return {
    source: source.id,
    eventId: judgement.eventId,
    claimedEventId: judgement.claimedEventId,
    eventType: judgement.eventType,
    site: source.site,
    status: judgement.status,
    reason: judgement.reason,
    size: judgement.size,
    receivedAt: arrival.receivedAt,
    via: arrival.via,
    clientIp: arrival.clientIp,
    method: arrival.method,
    query: cleanText(queryForJournal(arrival.query), 16_384),
    headers: headersForJournal(arrival.rawHeaders, source.scheme.header),
    contentType: contentType === undefined ? null : cleanText(contentType),
    body: judgement.body,
  };
}
