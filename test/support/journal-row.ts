import { randomUUID } from 'node:crypto';
import type { JournalRow } from '../../src/inbound/journal-store.ts';

/** An accepted push of GitHub as a journal row, with an event id of its own. */
export function journalRow(source: number, changes: Partial<JournalRow> = {}): JournalRow {
  const body = changes.body ?? Buffer.from('{"a":1}');
  return {
    source,
    eventId: randomUUID(),
    senderEventId: null,
    itemIds: null,
    claimedEventId: null,
    eventType: 'push',
    site: null,
    status: 'accepted',
    reason: null,
    size: body.length,
    receivedAt: 1_790_000_000_000,
    via: 'direct',
    clientIp: null,
    method: 'POST',
    query: '',
    headers: '[["X-GitHub-Event","push"]]',
    contentType: 'application/json',
    ...changes,
    body,
  };
}
