/**
 * What the servers run on each event. `counted` writes its effect with `tx`: exactly one row an event must be left.
 * `plain` appends a line to a file by itself: never none, and now and then a second one. Few calls throw, defer or take
 * a little time; which ones is told by the event id. Deaths are what this test deals out, so nobody is failed for them.
 */
import { appendFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';

const options = { maxDeaths: 1_000_000 };
const deferred = new Set();

export default (on) => {
  on('chaos', '*', { ...options, name: 'counted' }, async (event, context) => {
    await context.tx.query('insert into public.chaos_effects values ($1)', [event.eventId]);
    return behave(event, context, 'counted');
  });
  on('chaos', '*', { ...options, name: 'plain' }, async (event, context) => {
    // Last, so that a second line is the work of a fault.
    const verdict = await behave(event, context, 'plain');
    if (verdict === undefined) await appendFile(process.env.POSTHORN_CHAOS_PLAIN_FILE, `${event.eventId}\n`);
    return verdict;
  });
};

/** Of a thousand events, 2 throw at their first try, 5 ask for a later one, and 200 take up to 8 ms. */
async function behave(event, { retryLater }, handler) {
  const draw = hash(`${handler} ${event.eventId}`) % 1000;
  if (draw < 2 && event.attempt === 1) throw new Error('the first try of this event fails on purpose');
  const key = `${handler} ${event.eventId}`;
  if (draw >= 2 && draw < 7 && !deferred.has(key)) {
    deferred.add(key);
    return retryLater(1_000);
  }
  if (draw >= 800) await wait(1 + (draw % 8));
}

function hash(text) {
  let value = 0x811c9dc5;
  for (const char of text) value = Math.imul(value ^ char.codePointAt(0), 0x01000193);
  return value >>> 0;
}
