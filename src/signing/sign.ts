import type { Scheme } from './scheme.ts';
import { signingKey } from './secrets.ts';
import { signatureText } from './verify.ts';

/**
 * The headers that a sender using `scheme` would add to `body`: signature, timestamp and id. The same template
 * verifies, so what this makes always passes `verify`. `timestamp` is milliseconds since 1970.
 * Throws if `secret` is empty or not in the scheme's key encoding, or if the scheme signs an id or time that is not given.
 */
export function sign(
  body: Buffer,
  scheme: Scheme,
  { secret, id, timestamp }: { secret: string; id?: string; timestamp?: number },
): Record<string, string> {
  const key = signingKey(secret, scheme.keyEncoding);
  if (key === undefined) throw new Error('the secret cannot be used as a key of this scheme');
  if (scheme.timestamp !== undefined && timestamp === undefined)
    throw new Error('this scheme signs a timestamp: give one');
  if (scheme.signsId && id === undefined) throw new Error('this scheme signs an id: give one');
  const time =
    scheme.timestamp?.unit === 'ms' ? String(timestamp) : String(Math.floor((timestamp ?? 0) / 1000));
  const signature = `${scheme.prefix}${signatureText(key, body, scheme, { timestamp: time, id: id ?? '' })}`;
  const headers: Record<string, string> = {};
  const items = scheme.field === undefined ? [signature] : [`${scheme.field}=${signature}`];
  if (scheme.timestamp && 'field' in scheme.timestamp) items.unshift(`${scheme.timestamp.field}=${time}`);
  else if (scheme.timestamp) headers[scheme.timestamp.header] = time;
  headers[scheme.header] = items.join(scheme.list ?? '');
  if ('header' in scheme.eventId && id !== undefined) headers[scheme.eventId.header] = id;
  return headers;
}
