import { isUtf8 } from 'node:buffer';

/**
 * The fields of an `application/x-www-form-urlencoded` body in their order, or undefined where an escape is broken or what
 * it stands for is no UTF-8. `+` is a space.
 */
export function parseForm(body: Buffer): [name: string, value: string][] | undefined {
  const text = body.toString('latin1');
  if (text === '') return [];
  const pairs: [string, string][] = [];
  const pieces = text.split('&', mostFields + 1);
  if (pieces.length > mostFields) return undefined;
  for (const pair of pieces) {
    if (pair === '') continue;
    const at = pair.indexOf('=');
    const name = formText(at < 0 ? pair : pair.slice(0, at));
    const value = at < 0 ? '' : formText(pair.slice(at + 1));
    if (name === undefined || value === undefined) return undefined;
    pairs.push([name, value]);
  }
  return pairs;
}

/** As for the keys of a JSON body. */
const mostFields = 100_000;

/** The decoded text of one name or value. */
export function formText(text: string): string | undefined {
  if (/%(?![0-9a-fA-F]{2})/.test(text)) return undefined;
  const bytes = Buffer.from(
    text
      .replaceAll('+', ' ')
      .replace(/%([0-9a-fA-F]{2})/g, (_escape, digits: string) => String.fromCharCode(parseInt(digits, 16))),
    'latin1',
  );
  return isUtf8(bytes) ? bytes.toString('utf8') : undefined;
}

/** The fields as an object: a list where a name occurs more than once. Without a prototype, so that no name is special. */
export function formObject(pairs: readonly (readonly [string, string])[]): Record<string, string | string[]> {
  const fields: Record<string, string | string[]> = Object.create(null);
  for (const [name, value] of pairs) {
    const before = fields[name];
    if (before === undefined) fields[name] = value;
    else if (typeof before === 'string') fields[name] = [before, value];
    else before.push(value);
  }
  return fields;
}

/** The decoded value of a query parameter that must occur exactly once. */
export function formValue(query: string, name: string): { value: string } | 'absent' | 'repeated' {
  const values = query
    .split('&')
    .map((pair) => pair.split('='))
    .filter(([key]) => formText(key ?? '') === name)
    .map(([, ...rest]) => formText(rest.join('=')) ?? '');
  if (values.length > 1) return 'repeated';
  return values[0] === undefined ? 'absent' : { value: values[0] };
}
