import type { KeyObject } from 'node:crypto';
import type { Draft } from './check.ts';
import type { Scheme } from './scheme.ts';

/**
 * Makes of a draft the request that a sender using `scheme` would send: adds signature, timestamp and id where the scheme
 * has them, in headers, query or body. The same description verifies, so what this makes always passes `verify`.
 * `timestamp` is milliseconds since 1970; `key` a secret's text, or the private key where the sender holds one.
 * Throws where the key is of another kind.
 */
export function sign(
  draft: Partial<Draft> & Pick<Draft, 'body'>,
  scheme: Scheme,
  { key, id = '', timestamp = 0 }: { key: string | KeyObject; id?: string; timestamp?: number },
): Draft {
  const whole = { method: 'POST', query: '', headers: {}, ...draft };
  const rule = scheme.description.eventId[0];
  const headers = rule !== undefined && 'header' in rule && id !== '' ? { [rule.header]: id } : {};
  return scheme.check.sign({ ...whole, headers: { ...headers, ...whole.headers } }, { key, id, timestamp });
}
