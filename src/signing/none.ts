import type { Check } from './check.ts';

/**
 * The family `none`: the sender proves nothing; whoever knows the URL can send. It must be chosen by name, and the start
 * warns.
 */
export type NoneCheck = { readonly family: 'none' };

export const noneCheck: Check = {
  needsSecret: false,
  provesNothing: true,
  readsBody: false,
  secretHeaders: [],
  hasTimestamp: false,
  signsId: false,
  secretProblem: () => undefined,
  keyOf: () => undefined,
  judge: () => ({ ok: true, secretIndex: 0 }),
  sign: (draft) => draft,
};
