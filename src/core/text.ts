/**
 * Text bound for a text column: PostgreSQL refuses NUL and lone surrogates, and nobody needs more than
 * `limit` characters of a name or reason (IN-9). Never used on bodies: those are kept as bytes.
 */
export function cleanText(text: string, limit = 200): string {
  const short = text.length > limit ? text.slice(0, limit) : text;
  const whole = short.isWellFormed() ? short : short.toWellFormed();
  return whole.includes('\0') ? whole.replaceAll('\0', '\uFFFD') : whole;
}

/** Event types: printable ASCII, 1 to 200 characters (IN-9). */
export function isEventType(text: string): boolean {
  return /^[\x20-\x7e]{1,200}$/.test(text);
}

/** Event ids (SIG-9): a longer or other id is refused, never cut. */
export function isEventId(text: string): boolean {
  return /^[A-Za-z0-9_.:=/+-]{1,200}$/.test(text);
}

/** Codes of sources and names of handlers in URLs, labels and files. */
export const sourceCodePattern = /^[a-z0-9][a-z0-9_-]{0,63}$/;
