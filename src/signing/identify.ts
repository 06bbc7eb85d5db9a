import { createHash } from 'node:crypto';
import type { Envelope } from '../core/envelope.ts';
import { firstHeader, soleHeader } from '../core/headers.ts';
import { isEventId, isEventType } from '../core/text.ts';
import type { Scheme } from './scheme.ts';

/** `eventId` is absent where the sender gave none, 'bad' where it gave one that is refused (SIG-9). */
export type Identity = {
  readonly eventId: { value: string } | 'absent' | 'bad';
  readonly eventType: string | null;
};

/**
 * Which event this is, once the body has been found to be sound. `payload` is the parsed body. Never throws.
 */
export function identify(envelope: Envelope, scheme: Scheme, payload: unknown): Identity {
  return { eventId: eventIdOf(envelope, scheme, payload), eventType: eventTypeOf(envelope, scheme, payload) };
}

/** The id that an unverified request claims to have; kept apart from true ids (IN-4). Only where a header names it. */
export function claimedEventId(rawHeaders: readonly string[], scheme: Scheme): string | null {
  if (!('header' in scheme.eventId)) return null;
  return firstHeader(rawHeaders, scheme.eventId.header) ?? null;
}

function eventIdOf(envelope: Envelope, scheme: Scheme, payload: unknown): Identity['eventId'] {
  if ('digest' in scheme.eventId) return { value: createHash('sha256').update(envelope.body).digest('hex') };
  const found =
    'header' in scheme.eventId
      ? soleHeader(envelope.rawHeaders, scheme.eventId.header)
      : idInPayload(payload, scheme.eventId.json);
  if (found === 'absent') return 'absent';
  return found === 'repeated' || !isEventId(found.value) ? 'bad' : found;
}

function idInPayload(payload: unknown, path: readonly string[]): { value: string } | 'absent' | 'repeated' {
  const found = valueAt(payload, path);
  if (typeof found === 'string') return { value: found };
  if (typeof found === 'number')
    return Number.isSafeInteger(found) ? { value: String(found) } : { value: '' };
  return found === undefined || found === null ? 'absent' : { value: '' };
}

function eventTypeOf(envelope: Envelope, scheme: Scheme, payload: unknown): string | null {
  const { eventType } = scheme;
  if (eventType === undefined) return null;
  if ('value' in eventType) return eventType.value;
  if ('json' in eventType) return typeOrNull(valueAt(payload, eventType.json));
  const type = typeOrNull(firstHeader(envelope.rawHeaders, eventType.header));
  const action = eventType.action && type !== null ? valueAt(payload, eventType.action) : undefined;
  return (typeof action === 'string' && typeOrNull(`${type}.${action}`)) || type;
}

function typeOrNull(value: unknown): string | null {
  return typeof value === 'string' && isEventType(value) ? value : null;
}

/** The value at a path of own properties, or undefined. */
function valueAt(payload: unknown, path: readonly string[]): unknown {
  let value = payload;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}
