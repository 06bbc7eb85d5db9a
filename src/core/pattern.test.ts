import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchesPattern, patternToRegex } from './pattern.ts';

const fitting: [string, string[], string[]][] = [
  ['push', ['push'], ['Push', 'pushed', 'xpush', 'push ', 'push.', '']],
  ['*', ['push', 'a.b.c', ' ', 'é', 'a\nb', ''], []],
  [
    'invoice.*',
    ['invoice', 'invoice.', 'invoice.paid', 'invoice.a.b'],
    ['invoices', 'invoicex.paid', 'xinvoice', 'in'],
  ],
  ['*.paid', ['invoice.paid', '.paid', 'a.b.paid'], ['paid', 'invoice.paid.x', 'invoice-paid']],
  ['a*c', ['ac', 'abc', 'a.b.c', 'acc', 'a\nc'], ['ab', 'bc', 'acb', 'xac']],
  ['*.*', ['', 'a', 'a.b', 'a.b.c'], []],
  ['a.*.c', ['a.b.c', 'a..c', 'a.b.b.c'], ['a.c', 'a', 'a.b']],
  ['a.*.*', ['a.', 'a.b', 'a.b.c'], ['a', 'b.a']],
  ['**', ['', 'push'], []],
  ['', [''], ['a', ' ']],
];

describe('a pattern', () => {
  it.each(fitting)('[IN-15] %s fits what it says and nothing else', (pattern, fits, others) => {
    for (const type of fits) expect(matchesPattern(pattern, type), JSON.stringify(type)).toBe(true);
    for (const type of others) expect(matchesPattern(pattern, type), JSON.stringify(type)).toBe(false);
  });

  it('[IN-15] takes every character but the star for itself', () => {
    const lookalikes: [string, string, string][] = [
      ['a.b', 'a.b', 'axb'],
      ['a+', 'a+', 'aa'],
      ['a?', 'a?', 'a'],
      ['(a|b)', '(a|b)', 'a'],
      ['a|b', 'a|b', 'a'],
      ['[ab]', '[ab]', 'a'],
      ['a{2}', 'a{2}', 'aa'],
      ['^a$', '^a$', 'a'],
      ['\\d', '\\d', '5'],
      ['\\', '\\', ''],
      ['a-b', 'a-b', 'a_b'],
      ['a/b', 'a/b', 'a\\/b'],
      ['(?i)a', '(?i)a', 'A'],
      ['***=a', '***=a', 'b'],
      ['é', 'é', 'e'],
      ['日*', '日本', '本日'],
      ['😀.*', '😀.x', '😁.x'],
      ['\u0130', '\u0130', 'i'],
    ];
    for (const [pattern, fits, other] of lookalikes) {
      expect(matchesPattern(pattern, fits), pattern).toBe(true);
      expect(matchesPattern(pattern, other), pattern).toBe(false);
    }
  });

  it('[IN-15] fits an event without a type only where it fits the empty text', () => {
    expect(matchesPattern('*', null)).toBe(true);
    expect(matchesPattern('', null)).toBe(true);
    for (const pattern of ['push', 'null', '*.paid', 'invoice.*', 'a*'])
      expect(matchesPattern(pattern, null)).toBe(false);
  });

  it('[IN-15] becomes a regular expression of constructs that PostgreSQL reads alike', () => {
    expect(patternToRegex('invoice.*')).toBe('^invoice(\\..*)?$');
    expect(patternToRegex('a.*.c+d')).toBe('^a\\..*\\.c\\+d$');
    expect(patternToRegex('日-本/😀')).toBe('^日-本/😀$');
    // Anchored and without a letter behind a backslash: that would be a class or an escape, and of another kind there.
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (pattern) => {
        const regex = patternToRegex(pattern);
        expect(regex.startsWith('^') && regex.endsWith('$')).toBe(true);
        expect(regex.replaceAll('\\\\', '')).not.toMatch(/\\[\p{L}\p{N}_]/u);
      }),
    );
  });

  it('[IN-15] agrees with a matcher that walks both texts', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', 'b', '.', '*', '+', '\\', 'é', '😀', '\n'),
      maxLength: 8,
    });
    fc.assert(
      fc.property(text, text, (pattern, type) => {
        expect(matchesPattern(pattern, type)).toBe(walks(pattern, type));
      }),
      { numRuns: 1000 },
    );
    fc.assert(
      fc.property(text, (type) => {
        const literal = type.replaceAll('*', '');
        expect(matchesPattern(literal, literal)).toBe(true);
      }),
    );
  });
});

function walks(pattern: string, type: string): boolean {
  if (pattern.endsWith('.*')) {
    const base = pattern.slice(0, -2);
    return globs(base, type) || globs(`${base}.*`, type);
  }
  return globs(pattern, type);
}

function globs(pattern: string, type: string): boolean {
  if (pattern === '') return type === '';
  if (pattern[0] === '*')
    return globs(pattern.slice(1), type) || (type !== '' && globs(pattern, type.slice(1)));
  return type !== '' && pattern[0] === type[0] && globs(pattern.slice(1), type.slice(1));
}
