/** What a look-up of a header that must occur exactly once found. */
export type SoleHeader = { readonly value: string } | 'absent' | 'repeated';

/**
 * The value of a header that must occur exactly once (SIG-7). Node joins or drops repeated headers in silence,
 * so this looks at the raw pairs. `name` is lower case.
 */
export function soleHeader(rawHeaders: readonly string[], name: string): SoleHeader {
  let found: string | undefined;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const candidate = rawHeaders[i] as string;
    if (candidate.length !== name.length || candidate.toLowerCase() !== name) continue;
    if (found !== undefined) return 'repeated';
    found = rawHeaders[i + 1] as string;
  }
  return found === undefined ? 'absent' : { value: found };
}

/** The first value of a header, or undefined. For headers on which nothing is decided. */
export function firstHeader(rawHeaders: readonly string[], name: string): string | undefined {
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const candidate = rawHeaders[i] as string;
    if (candidate.length === name.length && candidate.toLowerCase() === name) return rawHeaders[i + 1];
  }
  return undefined;
}
