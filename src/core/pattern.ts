/**
 * Patterns of event types: `*` stands for any characters, `x.*` also takes in plain `x` (IN-15).
 * Gives the source of an anchored regular expression that means the same in JavaScript and in PostgreSQL.
 */
export function patternToRegex(pattern: string): string {
  const base = pattern.endsWith('.*') ? pattern.slice(0, -2) : undefined;
  const body = (base ?? pattern).split('*').map(escapeLiteral).join('.*');
  return base === undefined ? `^${body}$` : `^${body}(\\..*)?$`;
}

/** One expression for several patterns: what fits any of them. */
export function patternsToRegex(patterns: readonly string[]): string {
  return patterns.map(patternToRegex).join('|');
}

/** Whether an event type (null: the event has none) fits a pattern. */
export function matchesPattern(pattern: string, eventType: string | null): boolean {
  return new RegExp(patternToRegex(pattern), 's').test(eventType ?? '');
}

function escapeLiteral(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, (sign) => (sign === '-' || sign === '/' ? sign : `\\${sign}`));
}
