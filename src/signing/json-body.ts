import { isAscii, isUtf8 } from 'node:buffer';

const mostDepth = 64;
const mostKeys = 100_000;
/** The shortest key with its value and comma is `"":0,`, so a shorter body cannot hold too many. */
const leastBytesOfTooManyKeys = mostKeys * 5;

export type ParsedBody = { readonly payload: unknown } | 'bad_body';

/**
 * Parses a JSON body: valid UTF-8, at most 64 levels deep, at most 100,000 keys. Depth and keys are counted before
 * parsing, so that no body makes the parser do more than its size warrants. A leading BOM is passed over. The result
 * is for reading an id and a type out of it: the record stays the bytes.
 */
export function parseJsonBody(body: Buffer): ParsedBody {
  const text = textOf(body);
  if (text === undefined || exceedsBounds(body)) return 'bad_body';
  try {
    return { payload: JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text) };
  } catch {
    return 'bad_body';
  }
}

/** Most bodies are ASCII, for which the text is a plain copy. */
function textOf(body: Buffer): string | undefined {
  if (isAscii(body)) return body.toString('latin1');
  return isUtf8(body) ? body.toString('utf8') : undefined;
}

const quote = 0x22;
const backslash = 0x5c;

function exceedsBounds(body: Buffer): boolean {
  const countKeys = body.length >= leastBytesOfTooManyKeys;
  let depth = 0;
  let keys = 0;
  for (let i = 0; i < body.length; i++) {
    const byte = body[i] as number;
    if (byte === quote) {
      i = endOfString(body, i);
    } else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > mostDepth) return true;
    } else if (byte === 0x7d || byte === 0x5d) {
      depth--;
    } else if (countKeys && byte === 0x3a && ++keys > mostKeys) {
      return true;
    }
  }
  return false;
}

/** Where the string that begins at `start` ends: `indexOf` runs in native code, most strings hold no escape. */
function endOfString(body: Buffer, start: number): number {
  for (let from = start + 1; ; ) {
    const end = body.indexOf(quote, from);
    if (end < 0) return body.length;
    let slashes = 0;
    while (body[end - 1 - slashes] === backslash) slashes++;
    if (slashes % 2 === 0) return end;
    from = end + 1;
  }
}
