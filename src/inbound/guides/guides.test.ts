import { describe, expect, it } from 'vitest';
import { providers } from '../../signing/index.ts';
import type { Guide } from './guide.ts';
import { guides } from './index.ts';

const all = Object.entries(guides);

describe('guides', () => {
  it('[OPS-9] every scheme by name has a guide', () => {
    expect(Object.keys(providers).filter((slug) => !(slug in guides))).toEqual([]);
  });

  it('[OPS-9] there are guides for all 64 senders of the list and one more, and none was overwritten by another file', () => {
    expect(all).toHaveLength(65);
  });

  it.each(all)(
    '[OPS-9] the guide of %s has texts that are not empty and have no space at an end',
    (_, guide) => {
      expect(
        textsOf(guide).filter((text) => text === '' || text !== text.trim() || text.includes('\n')),
      ).toEqual([]);
    },
  );

  it.each(all)(
    '[OPS-9] the guide of %s has 1 to 6 steps, each a sentence with its full stop',
    (_, { steps }) => {
      expect(steps.length).toBeGreaterThanOrEqual(1);
      expect(steps.length).toBeLessThanOrEqual(6);
      expect(steps.filter((step) => !step.endsWith('.'))).toEqual([]);
    },
  );

  it.each(all)('[OPS-9] the guide of %s says where the URL of the source goes', (_, { steps }) => {
    expect(steps.some((step) => step.includes('{url}'))).toBe(true);
  });

  it.each(all)('[OPS-9] the guide of %s says in words what is not certain, without marks', (_, guide) => {
    expect(textsOf(guide).filter((text) => /\((m|2)\)|UNSURE/.test(text))).toEqual([]);
  });

  it.each(all)('[OPS-9] the guide of %s has its bold labels and code closed', (_, guide) => {
    const open = (text: string) => text.split('**').length % 2 === 0 || text.split('`').length % 2 === 0;
    expect(textsOf(guide).filter(open)).toEqual([]);
  });
});

function textsOf({ steps, secret, retries, ifDown, notes = [], unchecked = [] }: Guide): string[] {
  return [...steps, secret, retries, ifDown, ...notes, ...unchecked];
}
