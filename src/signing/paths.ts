/**
 * Paths into a parsed body: `data.id` names a value, `entry[].changes[]` every item of every list. Only own properties
 * are followed, so that no body reaches what it does not hold itself.
 */
export function pathOf(text: string): readonly string[] {
  let path = paths.get(text);
  if (path === undefined) {
    path = text.split('.');
    paths.set(text, path);
  }
  return path;
}

/** Paths come from the configuration and the table of providers, so there are few. */
const paths = new Map<string, readonly string[]>();

/** The value at a path, or undefined. */
export function valueAt(payload: unknown, path: readonly string[]): unknown {
  let value = payload;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}

/** Every value at a path with `[]` after each list; what is no list there gives none. */
export function valuesAt(payload: unknown, path: string): unknown[] {
  let values = [payload];
  for (const step of path === '' ? [] : path.split('.')) {
    const isList = step.endsWith('[]');
    const key = isList ? step.slice(0, -2) : step;
    values = values.flatMap((value) => {
      const found = key === '' ? value : valueAt(value, [key]);
      if (isList) return Array.isArray(found) ? found : [];
      return found === undefined ? [] : [found];
    });
  }
  return values;
}

/** A copy of `payload` with the value at `path` replaced; objects on the way are made where they are missing. */
export function withValueAt(payload: unknown, path: readonly string[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  const holder = typeof payload === 'object' && payload !== null ? payload : /^\d+$/.test(key) ? [] : {};
  const copy = Array.isArray(holder) ? [...holder] : { ...holder };
  (copy as Record<string, unknown>)[key] = withValueAt(valueAt(holder, [key]), rest, value);
  return copy;
}
