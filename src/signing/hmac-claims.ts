import type { Envelope } from '../core/envelope.ts';
import { soleHeader } from '../core/headers.ts';
import { isEventId } from '../core/text.ts';
import type { Compiled } from './hmac.ts';
import { parseTimestamp } from './timestamp.ts';

/** Bounds the work that one header can cause (SIG-7). */
const mostSignatures = 20;

type Claims = { claimed: string[]; items: readonly string[] | undefined };

/** The signatures that the request claims, and the items of its list; 'bad' where a header that decides is repeated. */
export function claimsOf(scheme: Compiled, rawHeaders: readonly string[]): Claims | 'absent' | 'bad' {
  if (scheme.numbered > 0) return numberedClaims(scheme, rawHeaders);
  if (scheme.headers.length > 1) return anyClaims(scheme, rawHeaders);
  const header = soleHeader(rawHeaders, scheme.header);
  if (header === 'absent' || (typeof header === 'object' && header.value === '')) return 'absent';
  return header === 'repeated' ? 'bad' : claimsIn(scheme, header.value);
}

function claimsIn(scheme: Compiled, value: string): Claims | 'bad' {
  const claimed: string[] = [];
  if (scheme.list === undefined) {
    addClaim(scheme, value, claimed);
    return { claimed, items: undefined };
  }
  const items = value.split(scheme.list);
  if (items.length > mostSignatures) return 'bad';
  for (const item of items) {
    // Other labels are passed over.
    const text = scheme.field === undefined ? trimBlanks(item) : fieldOf(item, scheme.field);
    if (text !== undefined) addClaim(scheme, text, claimed);
  }
  return { claimed, items };
}

/**
 * Adds the claimed signature if it has exactly the length of the encoding (SIG-4). Its alphabet needs no look of its
 * own: it is compared as text, so only the one canonical spelling of the right signature is equal. Node's decoders are
 * lenient, so nothing is decoded. Hexadecimal digits may come in either case.
 */
function addClaim(scheme: Compiled, value: string, claimed: string[]): void {
  if (!value.startsWith(scheme.prefix)) return;
  const text = scheme.prefix === '' ? value : value.slice(scheme.prefix.length);
  if (text.length === scheme.textLength) claimed.push(scheme.encoding === 'hex' ? text.toLowerCase() : text);
}

function anyClaims(scheme: Compiled, rawHeaders: readonly string[]): Claims | 'absent' | 'bad' {
  const claimed: string[] = [];
  let isPresent = false;
  for (const name of scheme.headers) {
    const header = soleHeader(rawHeaders, name);
    if (header === 'repeated') return 'bad';
    if (header === 'absent' || header.value === '') continue;
    isPresent = true;
    addClaim(scheme, header.value, claimed);
  }
  return isPresent ? { claimed, items: undefined } : 'absent';
}

function numberedClaims(scheme: Compiled, rawHeaders: readonly string[]): Claims | 'absent' | 'bad' {
  const seen = new Set<string>();
  const claimed: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] as string).toLowerCase();
    if (!name.startsWith(`${scheme.header}-`)) continue;
    const number = name.slice(scheme.header.length + 1);
    if (!/^[1-9][0-9]{0,2}$/.test(number) || Number(number) > scheme.numbered) continue;
    if (seen.has(number)) return 'bad';
    seen.add(number);
    addClaim(scheme, rawHeaders[i + 1] as string, claimed);
  }
  return seen.size === 0 ? 'absent' : { claimed, items: undefined };
}

export function numberedNames(header: string, most: number): string[] {
  return Array.from({ length: most }, (_none, index) => `${header}-${index + 1}`);
}

/** Space and tab are the only white space of a header's value. */
function trimBlanks(text: string): string {
  return text.replace(/^[ \t]+|[ \t]+$/g, '');
}

function fieldOf(item: string, field: string): string | undefined {
  const trimmed = trimBlanks(item);
  return trimmed.startsWith(`${field}=`) ? trimmed.slice(field.length + 1) : undefined;
}

export type Metadata = { readonly timestamp: string; readonly id: string };

const noMetadata: Metadata = { timestamp: '', id: '' };

/** Timestamp and id as the exact texts that were signed, or why they cannot be had. */
export function metadataOf(
  scheme: Compiled,
  envelope: Envelope,
  items: readonly string[] | undefined,
): Metadata | 'absent' | 'bad' {
  let timestamp = '';
  let id = '';
  const rule = scheme.timestamp;
  if (rule !== undefined && !('json' in rule)) {
    const found =
      'header' in rule ? soleHeader(envelope.rawHeaders, rule.header) : soleField(items ?? [], rule.field);
    if (typeof found === 'string') return found === 'absent' ? 'absent' : 'bad';
    if (parseTimestamp(found.value, rule.unit) === undefined) return 'bad';
    timestamp = found.value;
  }
  if (scheme.idHeader !== undefined) {
    const found = soleHeader(envelope.rawHeaders, scheme.idHeader);
    if (typeof found === 'string') return found === 'absent' ? 'absent' : 'bad';
    if (!isEventId(found.value) || scheme.idEnds.some((sign) => found.value.includes(sign))) return 'bad';
    id = found.value;
  }
  return timestamp === '' && id === '' ? noMetadata : { timestamp, id };
}

function soleField(items: readonly string[], field: string): { value: string } | 'absent' | 'repeated' {
  const values = items.map((item) => fieldOf(item, field)).filter((value) => value !== undefined);
  if (values.length > 1) return 'repeated';
  return values[0] === undefined ? 'absent' : { value: values[0] };
}
