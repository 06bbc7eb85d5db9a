import { formValue } from '../../signing/index.ts';

/**
 * The decoded value of a query parameter that occurs exactly once. By hand: names such as `hub.mode` hold dots, out of
 * which a nesting parser would make objects.
 */
export function parameter(query: string, name: string): string | undefined {
  const found = formValue(query, name);
  return typeof found === 'object' ? found.value : undefined;
}
