import type { KeyObject } from 'node:crypto';
import type { Envelope } from '../core/envelope.ts';
import type { CheckContext, Verdict } from './check.ts';
import { parseBody } from './parse-body.ts';
import type { Scheme } from './scheme.ts';

export type VerifyOptions = Pick<CheckContext, 'toleranceSeconds' | 'clientIp'> & {
  /** The parsed body, where the caller has parsed it already, within bounds of its own. */
  readonly payload?: () => unknown;
};

/**
 * Whether one of `secrets` signed this envelope under `scheme`. The window of `toleranceSeconds` lies around
 * `envelope.receivedAt`, both ways, inclusive. `timestamp` in the verdict is milliseconds since 1970.
 * Never throws, whatever the bytes or headers (SIG-2); the sender chooses neither algorithm nor label nor key (SIG-6).
 */
export function verify(
  envelope: Envelope,
  scheme: Scheme,
  secrets: readonly (string | KeyObject)[],
  { payload, ...options }: VerifyOptions,
): Verdict {
  const { check } = scheme;
  const keys: KeyObject[] = [];
  // A text that cannot be a key keeps its place, so that the index in the verdict is the caller's.
  const indexes: number[] = [];
  secrets.forEach((secret, index) => {
    const key = typeof secret === 'string' ? check.keyOf(secret) : secret;
    if (key === undefined) return;
    keys.push(key);
    indexes.push(index);
  });
  const verdict = check.judge(envelope, keys, {
    ...options,
    payload: payload ?? (() => parsed(envelope, scheme)),
  });
  const isMoved = verdict.ok && (indexes[verdict.secretIndex] ?? verdict.secretIndex) !== verdict.secretIndex;
  return isMoved ? { ...verdict, secretIndex: indexes[verdict.secretIndex] as number } : verdict;
}

function parsed(envelope: Envelope, scheme: Scheme): unknown {
  const body = parseBody(envelope, scheme.body);
  return body === 'bad_body' ? undefined : body.payload;
}
