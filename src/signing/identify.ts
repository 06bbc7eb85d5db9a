import { createHash, randomUUID } from 'node:crypto';
import type { Envelope } from '../core/envelope.ts';
import { firstHeader, soleHeader } from '../core/headers.ts';
import { isEventId, isEventType } from '../core/text.ts';
import { pathOf, valueAt, valuesAt } from './paths.ts';
import type { IdRule, ItemRule, Place, Scheme, TypeRule } from './scheme.ts';

/** `eventId` is absent where the sender gave none, 'bad' where it gave one that is refused (SIG-9). */
export type Identity = {
  readonly eventId: { value: string } | 'absent' | 'bad';
  readonly eventType: string | null;
};

/** One of the events that came in one request. `payload` is its part of the body. */
export type Item = { readonly id: string; readonly type: string | null; readonly payload: unknown };

/** What rules are read from; `body` is digested where nothing else tells events apart. */
type Subject = {
  readonly rawHeaders: readonly string[];
  readonly payload: unknown;
  readonly body: () => Buffer;
};

/**
 * Which event this is, once the body has been found to be sound. `payload` is the parsed body. Never throws.
 */
export function identify(envelope: Envelope, scheme: Scheme, payload: unknown): Identity {
  const { eventId, eventType, items } = scheme.description;
  const subject = { rawHeaders: envelope.rawHeaders, payload, body: () => envelope.body };
  return { eventId: idOf(subject, eventId, items), eventType: typeOf(subject, eventType ?? []) };
}

/** The events of a request that holds several, in their order; a request of another sender is one item. Never throws. */
export function itemsOf(scheme: Scheme, payload: unknown): Item[] {
  const rule = scheme.description.items;
  return rule === undefined ? [] : itemsBy(rule, payload);
}

/** The id that an unverified request claims to have; kept apart from true ids (IN-4). Only where a header names it. */
export function claimedEventId(rawHeaders: readonly string[], scheme: Scheme): string | null {
  for (const rule of scheme.description.eventId) {
    const claimed = 'header' in rule ? firstHeader(rawHeaders, rule.header) : undefined;
    if (claimed !== undefined) return claimed;
  }
  return null;
}

function idOf(subject: Subject, rules: readonly IdRule[], items?: ItemRule): Identity['eventId'] {
  for (const rule of rules) {
    const found = idBy(subject, rule, items);
    if (found === 'repeated') return 'bad';
    if (found !== 'absent') return isEventId(found.value) ? found : 'bad';
  }
  return 'absent';
}

type Found = { value: string } | 'absent' | 'repeated';

function idBy(subject: Subject, rule: IdRule, items: ItemRule | undefined): Found {
  if ('unique' in rule) return { value: randomUUID() };
  if ('self' in rule) return textOf(subject.payload);
  if ('parts' in rule) return joined(rule.parts.map((place) => partValue(subject, place)));
  if (!('items' in rule)) return placeValue(subject, rule);
  const ids = items === undefined ? [] : itemsBy(items, subject.payload).map(({ id }) => id);
  return ids.length === 0
    ? 'absent'
    : { value: ids.length === 1 ? (ids[0] as string) : digestOf(JSON.stringify(ids)) };
}

function placeValue(subject: Subject, place: Place): Found {
  if ('value' in place) return place;
  if ('digest' in place) return { value: digestOf(subject.body()) };
  if ('header' in place) return soleHeader(subject.rawHeaders, place.header);
  return textOf(valueAt(subject.payload, pathOf(place.json)));
}

/** As one of several parts a truth value says something too. */
function partValue(subject: Subject, place: Place): Found {
  const value = 'json' in place ? valueAt(subject.payload, pathOf(place.json)) : undefined;
  return typeof value === 'boolean' ? { value: String(value) } : placeValue(subject, place);
}

/** A number that JavaScript cannot hold exactly would make one id of two: it is refused by its empty text. */
function textOf(value: unknown): { value: string } | 'absent' {
  if (typeof value === 'string') return { value };
  if (typeof value === 'number') return { value: Number.isSafeInteger(value) ? String(value) : '' };
  return value === undefined || value === null ? 'absent' : { value: '' };
}

/** Readable where no two lists of parts could give the same text, otherwise a digest of the list. */
function joined(parts: readonly Found[]): Found {
  if (parts.includes('repeated')) return 'repeated';
  const values = parts.map((part) => (typeof part === 'object' ? part.value : ''));
  if (parts.includes('absent') || values.includes('')) return 'absent';
  const text = values.join(':');
  const isReadable = isEventId(text) && values.every((value) => !value.includes(':'));
  return { value: isReadable ? text : digestOf(JSON.stringify(values)) };
}

function itemsBy(rule: ItemRule, payload: unknown): Item[] {
  return rule.at
    .flatMap((path) => valuesAt(payload, path))
    .map((item) => {
      const subject = { rawHeaders: [], payload: item, body: () => Buffer.from(JSON.stringify(item) ?? '') };
      const id = idOf(subject, rule.id);
      // An item is never refused for its id: the request as a whole has been accepted.
      const value = typeof id === 'object' ? id.value : digestOf(subject.body());
      return { id: value, type: typeOf(subject, rule.type ?? []), payload: item };
    });
}

function digestOf(bytes: Buffer | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function typeOf(subject: Subject, rules: readonly TypeRule[]): string | null {
  for (const rule of rules) {
    const type = typeBy(subject, rule);
    if (type !== null) return type;
  }
  return null;
}

function typeBy(subject: Subject, rule: TypeRule): string | null {
  if ('value' in rule) return rule.value;
  if ('json' in rule) return typeOrNull(valueAt(subject.payload, pathOf(rule.json)));
  if ('keyBeside' in rule) return keyBeside(subject.payload, rule.keyBeside);
  if ('parts' in rule) return joinedType(rule.parts.map((place) => partValue(subject, place)));
  const type = typeOrNull(firstHeader(subject.rawHeaders, rule.header));
  const action = rule.action && type !== null ? valueAt(subject.payload, pathOf(rule.action)) : undefined;
  return (typeof action === 'string' && typeOrNull(`${type}.${action}`)) || type;
}

function joinedType(parts: readonly Found[]): string | null {
  const values = parts.map((part) => (typeof part === 'object' ? part.value : ''));
  return values[0] === '' ? null : typeOrNull(values.filter((value) => value !== '').join('.'));
}

function keyBeside(payload: unknown, others: readonly string[]): string | null {
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) return null;
  const keys = Object.keys(payload).filter((key) => !others.includes(key));
  return keys.length === 1 ? typeOrNull(keys[0]) : null;
}

function typeOrNull(value: unknown): string | null {
  return typeof value === 'string' && isEventType(value) ? value : null;
}
