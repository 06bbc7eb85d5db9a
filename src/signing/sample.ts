import type { Draft } from './check.ts';
import { pathOf, withValueAt } from './paths.ts';
import type { IdRule, Place, Scheme, TypeRule } from './scheme.ts';

/**
 * A test event as the sender of a scheme would send it, not signed yet: its id and type where the scheme looks for them, in
 * the kind of body that it takes. `sign` makes it whole.
 */
export function sampleRequest(
  { description, body }: Scheme,
  { id, type, text = 'hello' }: { id: string; type: string; text?: string },
): Draft {
  const { items, eventId, eventType = [] } = description;
  const request: Sample = { headers: {}, payload: items?.at[0]?.startsWith('[]') === true ? [] : {} };
  placeId(request, eventId[0], id);
  placeType(request, eventType[0], { type, text });
  if (items !== undefined) {
    const item: Sample = { headers: {}, payload: {} };
    placeId(item, items.id[0], id);
    placeType(item, items.type?.[0], { type, text });
    const at = (items.at[0] as string).split('.').flatMap(stepsOf);
    item.payload = withValueAt(item.payload, ['note'], text);
    request.payload = withValueAt(
      request.payload,
      at,
      items.id.some((rule) => 'self' in rule) ? id : item.payload,
    );
  }
  const isOpen = !Array.isArray(request.payload) && !eventType.some((rule) => 'keyBeside' in rule);
  if (isOpen) request.payload = withValueAt(request.payload, ['note'], text);
  const isForm = description.check.family === 'twilio' || body === 'form';
  return {
    method: 'POST',
    query: '',
    headers: {
      ...request.headers,
      'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json',
    },
    body: Buffer.from(isForm ? formOf(request.payload) : JSON.stringify(request.payload)),
  };
}

type Sample = { headers: Record<string, string>; payload: unknown };

/** `entry[]` is a key and the first place of its list, `[]` the first place alone. */
function stepsOf(step: string): string[] {
  return step === '[]' ? ['0'] : step.endsWith('[]') ? [step.slice(0, -2), '0'] : [step];
}

function placeId(sample: Sample, rule: IdRule | undefined, id: string): void {
  if (rule === undefined) return;
  if ('parts' in rule) for (const place of rule.parts) set(sample, place, id);
  else if ('json' in rule || 'header' in rule) set(sample, rule, id);
}

function placeType(
  sample: Sample,
  rule: TypeRule | undefined,
  { type, text }: { type: string; text: string },
): void {
  if (rule === undefined || 'value' in rule) return;
  if ('keyBeside' in rule) sample.payload = withValueAt(sample.payload, [type], { note: text });
  else set(sample, 'parts' in rule ? (rule.parts[0] as Place) : rule, type);
}

function set(sample: Sample, place: Place, value: string): void {
  if ('header' in place) sample.headers[place.header] = value;
  else if ('json' in place) sample.payload = withValueAt(sample.payload, pathOf(place.json), value);
}

function formOf(payload: unknown): string {
  return new URLSearchParams(payload as Record<string, string>).toString();
}
