import type { Pool } from '../platform/db.ts';
import { itemsOf, parseBody, type Scheme } from '../signing/index.ts';
import type { ClaimedRun } from './claim-store.ts';
import { findEventBody, findItemHolders } from './event-store.ts';
import type { HandlerEvent } from './handlers.ts';

/** What a handler is told of its event; headers and body are loaded when it asks, once. */
export function eventOf(
  run: ClaimedRun,
  { pool, schemes }: { pool: Pool; schemes?: ReadonlyMap<string, Scheme> | undefined },
): HandlerEvent {
  const stored = lazily(async () => {
    const found = await findEventBody(pool, run.event);
    if (found === undefined) throw new Error('the body of this event is not kept any more');
    return found;
  });
  const scheme = schemes?.get(run.source);
  const json = async () => {
    const { body, headers } = await stored();
    const envelope = { method: 'POST', query: '', rawHeaders: headers.flat(), body, receivedAt: 0 };
    const parsed = parseBody(envelope, scheme?.body ?? 'json');
    if (parsed === 'bad_body')
      throw new Error('the body of this event cannot be parsed; event.body() has its bytes');
    return parsed.payload;
  };
  return {
    id: run.event,
    runId: run.replay === 0 ? run.id : `${run.id}:r${run.replay}`,
    source: run.source,
    eventId: run.eventId,
    eventType: run.eventType,
    receivedAt: run.receivedAt,
    site: run.site,
    replay: run.replay,
    attempt: run.attempts,
    headers: async () => (await stored()).headers,
    body: async () => (await stored()).body,
    json,
    items: async () => {
      const items = scheme === undefined ? [] : itemsOf(scheme, await json());
      const ids = items.map(({ id }) => id);
      const holders = ids.length === 0 ? new Map() : await findItemHolders(pool, run.event, ids);
      return items.map((item) => ({ ...item, seenIn: holders.get(item.id) ?? null }));
    },
  };
}

/** Most handlers never ask for it. */
export function lazily<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
