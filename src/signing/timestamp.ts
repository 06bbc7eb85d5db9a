/** How a sender writes the time that it signs. */
export type TimeUnit = (typeof timeUnits)[number];

export const timeUnits = ['s', 'ms', 'iso', 'date'] as const;

/** Digits only, in a plausible length: 10 for seconds, 13 for milliseconds (SIG-8). ISO 8601 with seconds and zone; the form
 *  of the header `Date` (RFC 9110, 5.6.7), also as some write it, without its comma and with UTC for GMT. */
const forms: Record<TimeUnit, RegExp> = {
  s: /^[0-9]{10}$/,
  ms: /^[0-9]{13}$/,
  iso: /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2})$/,
  date: /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} (?:GMT|UTC)$/,
};

/** The time in milliseconds since 1970, or undefined where the text is not in the form of its unit. */
export function parseTimestamp(text: string, unit: TimeUnit): number | undefined {
  if (!forms[unit].test(text)) return undefined;
  if (unit === 's') return Number(text) * 1000;
  if (unit === 'ms') return Number(text);
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

/** The time as the sender would write it. */
export function timestampText(milliseconds: number, unit: TimeUnit): string {
  if (unit === 's') return String(Math.floor(milliseconds / 1000));
  if (unit === 'ms') return String(milliseconds);
  const date = new Date(milliseconds);
  return unit === 'iso' ? date.toISOString() : date.toUTCString();
}

/**
 * A window in seconds is judged in whole seconds, as the senders' own libraries do: the time of reception is cut to the
 * second where the timestamp has no finer part.
 */
export function comparableTime(receivedAt: number, unit: TimeUnit): number {
  return unit === 's' || unit === 'date' ? Math.floor(receivedAt / 1000) * 1000 : receivedAt;
}
