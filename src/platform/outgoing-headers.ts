/**
 * What is wrong with a header that a user wants to add to an outgoing request, as an ending of "the header <name> ...",
 * or undefined. `own` are names, lower case, that the sender itself sets, such as those of its signature. (EGR-10)
 */
export function headerProblem(name: string, value: string, own: readonly string[] = []): string | undefined {
  const lower = name.toLowerCase();
  if (!/^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(lower)) return 'is no valid header name';
  if (reserved.has(lower) || lower.startsWith('proxy-')) return 'is set by the connection itself';
  if (own.includes(lower)) return 'is set by the sender itself';
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
    return 'has a value with a line break or another control character';
  return undefined;
}

/** They decide where a message ends, who it is for, or belong to one connection (RFC 9110, 7.6.1); and cookies. */
const reserved = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
  'expect',
  'keep-alive',
  'cookie',
]);
