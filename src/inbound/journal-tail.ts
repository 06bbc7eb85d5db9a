import type { EventStatus } from '../core/outcome.ts';
import type { Queryable } from '../platform/db.ts';
import { type EventLine, findTailStart, listEventsSince, listSettledEvents } from './event-store.ts';

const mostPerLook = 100_000;
/** Of the events that wait for their handlers, the latest this many are followed. */
const mostUnsettled = 10_000;

export type JournalTail = {
  /** What is new since the last look: events that came, and once more those whose handlers are done by now. */
  look(): Promise<EventLine[]>;
};

/**
 * Follows the journal from now on. Batches become visible out of the order of their ids, so each look goes back 5 s and
 * leaves out what was shown, or what was there before the tail began.
 */
export async function startTail(db: Queryable): Promise<JournalTail> {
  let from = await findTailStart(db);
  let seen = new Set((await listEventsSince(db, from, mostPerLook)).map(({ id }) => id));
  let unsettled: number[] = [];
  return {
    look: async () => {
      const ended = unsettled.length === 0 ? [] : await listSettledEvents(db, unsettled);
      const settledBefore = Math.max(from, await findTailStart(db));
      const lines = await listEventsSince(db, from, mostPerLook);
      const fresh = lines.filter(({ id }) => !seen.has(id));
      from = Math.min(settledBefore, lines.at(-1)?.id ?? settledBefore);
      seen = new Set([...seen, ...fresh.map(({ id }) => id)].filter((id) => id > from));
      const gone = new Set(ended.map(({ id }) => id));
      unsettled = [
        ...unsettled.filter((id) => !gone.has(id)),
        ...fresh.filter(isUnsettled).map(({ id }) => id),
      ];
      unsettled = unsettled.slice(-mostUnsettled);
      return [...ended, ...fresh];
    },
  };
}

function isUnsettled({ status }: { status: EventStatus }): boolean {
  return status === 'accepted' || status === 'processing';
}
