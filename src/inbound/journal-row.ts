import { firstHeader } from '../core/headers.ts';
import type { RejectReason } from '../core/outcome.ts';
import { cleanText } from '../core/text.ts';
import { claimedEventId, type Reply } from '../signing/index.ts';
import type { JournalRow } from './journal.ts';
import type { Arrival } from './receive.ts';
import { headersForJournal, queryForJournal } from './redact.ts';
import type { Source } from './sources.ts';

/** What the gates that look at a request decided, as the columns of the journal row. */
export type Judgement = Columns &
  (
    | { readonly status: 'rejected'; readonly reason: RejectReason }
    | {
        readonly status: 'accepted' | 'skipped';
        readonly reason: string | null;
        readonly reply: Reply | undefined;
      }
    | { readonly status: 'handshake'; readonly reason: string; readonly reply: ShakeReply }
    | { readonly status: 'handshake'; readonly reason: 'refused'; readonly reply?: undefined }
  );

export type ShakeReply = Reply & { readonly headers?: readonly (readonly [string, string])[] };

type Columns = Pick<
  JournalRow,
  'eventId' | 'senderEventId' | 'itemIds' | 'claimedEventId' | 'eventType' | 'size' | 'body'
>;

/** A rejected body that does not parse is kept in part: enough to see what it is. */
const badBodyKeptBytes = 4_096;
export const nothing = Buffer.alloc(0);

/** A row that holds no event: neither id nor type, as nobody has verified them. */
export const noEvent = {
  eventId: null,
  senderEventId: null,
  itemIds: null,
  claimedEventId: null,
  eventType: null,
};

/** A rejected row never holds the event id: what nobody verified is kept apart (IN-4). */
export function reject(
  reason: RejectReason,
  body: Buffer,
  of: { arrival: Arrival; source: Source },
): Judgement {
  const claimed = claimedEventId(of.arrival.rawHeaders, of.source.scheme);
  return {
    ...noEvent,
    status: 'rejected',
    reason,
    claimedEventId: claimed === null ? null : cleanText(claimed),
    size: body.length,
    body: reason === 'bad_body' ? body.subarray(0, badBodyKeptBytes) : body,
  };
}

export function rowOf(arrival: Arrival, source: Source, judgement: Judgement): JournalRow {
  const contentType = firstHeader(arrival.rawHeaders, 'content-type');
  return {
    source: source.id,
    eventId: judgement.eventId,
    senderEventId: judgement.senderEventId,
    itemIds: judgement.itemIds,
    claimedEventId: judgement.claimedEventId,
    eventType: judgement.eventType,
    site: source.site,
    status: judgement.status,
    reason: judgement.reason,
    size: judgement.size,
    receivedAt: arrival.receivedAt,
    via: arrival.via,
    clientIp: arrival.clientIp,
    method: cleanText(arrival.method),
    query: cleanText(queryForJournal(arrival.query), 16_384),
    headers: headersForJournal(arrival.rawHeaders, source.secretHeaders),
    contentType: contentType === undefined ? null : cleanText(contentType),
    body: judgement.body,
  };
}
