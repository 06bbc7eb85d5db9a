import type { Check, SchemeOptions } from './check.ts';
import { type CheckDescription, compileCheck } from './families.ts';
import type { HmacDescription } from './hmac-description.ts';

/**
 * What a body is parsed as.
 *   json-or-form  by its Content-Type: JSON unless it calls itself a form
 *   json-or-any   JSON where it is JSON; anything else is taken, but not looked into
 *   any           never looked into
 */
export type BodyKind = 'json' | 'form' | 'json-or-form' | 'json-or-any' | 'multipart' | 'any';

/** A value of a request that an id or type is made of. */
export type Place =
  | { readonly header: string }
  | { readonly json: string }
  | { readonly value: string }
  | { readonly digest: 'body' };

/**
 * Where the id of an event is. Several rules: the first that finds one counts.
 *   header, json    a header, or a path in the parsed body (a form's fields are paths too)
 *   parts           several values together, all of which must be there
 *   items           of a request with items: the id of the only one, or a digest of all ids
 *   digest: body    SHA-256 of the body, for senders without ids
 *   unique          a new one each time, for senders whose equal requests are different events
 *   self            the item itself, where it is a text or number
 */
export type IdRule =
  | { readonly header: string }
  | { readonly json: string }
  | { readonly parts: readonly Place[] }
  | { readonly items: true }
  | { readonly unique: true }
  | { readonly self: true }
  | { readonly digest: 'body' };

/**
 * What kind of event it is.
 *   parts     values joined by dots; those that are absent are left out, but not the first
 *   keyBeside the one key at the top of the body that is none of these
 */
export type TypeRule =
  | { readonly header: string; readonly action?: string | undefined }
  | { readonly json: string }
  | { readonly parts: readonly Place[] }
  | { readonly keyBeside: readonly string[] }
  | { readonly value: string };

/** One request, many events: where its items are, and what each is. Rules are read from the item as if it were the body. */
export type ItemRule = {
  /** Paths with `[]` after each list, such as `entry[].changes[]`. */
  readonly at: readonly string[];
  readonly id: readonly IdRule[];
  readonly type?: readonly TypeRule[];
};

/** A scheme as data: how a request is told from a forged one, and which event it is. */
export type SchemeDescription = {
  readonly check: CheckDescription;
  /** Default json. */
  readonly body?: BodyKind;
  readonly eventId: readonly IdRule[];
  readonly eventType?: readonly TypeRule[];
  readonly items?: ItemRule;
};

/** A compiled scheme. */
export type Scheme = {
  readonly check: Check;
  readonly description: SchemeDescription;
  readonly body: BodyKind;
};

/**
 * Compiles a scheme once; a description in the short form of the configuration is taken too (call `schemeProblems` first
 * when it comes from a user).
 */
export function compileScheme(
  description: SchemeDescription | HmacDescription,
  options: SchemeOptions = {},
): Scheme {
  const full = withLowerCase('check' in description ? description : fromHmac(description));
  return { check: compileCheck(full.check, options), description: full, body: full.body ?? 'json' };
}

/** Names of headers are compared in lower case. */
function withLowerCase(description: SchemeDescription): SchemeDescription {
  const { eventId, eventType, ...rest } = description;
  const lower = <T extends object>(rule: T): T => {
    const header = 'header' in rule ? { header: String(rule.header).toLowerCase() } : {};
    const parts = 'parts' in rule ? { parts: (rule.parts as Place[]).map(lower) } : {};
    return { ...rule, ...header, ...parts };
  };
  return {
    ...rest,
    eventId: eventId.map(lower),
    ...(eventType === undefined ? {} : { eventType: eventType.map(lower) }),
  };
}

function fromHmac(description: HmacDescription): SchemeDescription {
  const { hmac, eventId, eventType, ...rest } = description;
  const idHeader = description.signed.includes('{id}') && 'header' in eventId ? eventId.header : undefined;
  return {
    check: { family: 'hmac', hash: hmac, ...rest, idHeader },
    eventId: [eventId],
    ...(eventType === undefined ? {} : { eventType: [eventType] }),
  };
}
