import { soleHeader } from '../core/headers.ts';
import type { Arrival } from './receive.ts';
import type { Source } from './sources.ts';
import { type Encoding, unpack } from './unpack.ts';

/** A body: the bytes that the sender signed, and what they say where that is not the same. */
export type Content = { readonly signed: Buffer; readonly read: Buffer };

/**
 * Reads the body within the source's bound, and unpacks it where this sender is known to pack (EDGE-3). A packed body has
 * its bound twice: as it comes, and unpacked.
 */
export async function readContent(
  arrival: Arrival,
  source: Source,
): Promise<Content | 'too_large' | 'busy' | 'aborted' | 'unsupported_encoding'> {
  const encoding = encodingOf(arrival, source);
  if (encoding === 'unsupported_encoding') return encoding;
  const body = await arrival.readBody(source.maxBodyBytes);
  if (typeof body === 'string' || encoding === undefined)
    return typeof body === 'string' ? body : whole(body);
  // Reserved before: how much it unpacks to is known only afterwards.
  if (!arrival.reserve(source.maxBodyBytes)) return 'busy';
  const read = await unpack(body, encoding, source.maxBodyBytes);
  if (read === 'too_large') return read;
  // What cannot be unpacked is judged as it is: its signature first, then that it does not parse.
  if (read === 'bad_body') return whole(body);
  return source.provider?.encodings?.signed === 'packed' ? { signed: body, read } : whole(read);
}

function whole(body: Buffer): Content {
  return { signed: body, read: body };
}

function encodingOf(
  { rawHeaders }: Arrival,
  { provider }: Source,
): Encoding | undefined | 'unsupported_encoding' {
  const header = soleHeader(rawHeaders, 'content-encoding');
  if (header === 'absent') return undefined;
  if (header === 'repeated') return 'unsupported_encoding';
  const name = header.value.toLowerCase();
  if (name === 'identity') return undefined;
  return provider?.encodings?.names.find((known) => known === name) ?? 'unsupported_encoding';
}
