import fc from 'fast-check';
import { expect, it } from 'vitest';
import { firstHeader, soleHeader } from './headers.ts';

it('[SIG-7] a header that occurs once gives its value as it stands, whatever the case of its name', () => {
  for (const name of ['X-Sign', 'x-sign', 'X-SIGN'])
    expect(soleHeader(['Host', 'a', name, ' b, c '], 'x-sign')).toEqual({ value: ' b, c ' });
  expect(soleHeader(['X-Sign', ''], 'x-sign')).toEqual({ value: '' });
});

it('[SIG-7] a header that occurs twice is repeated, with equal values too', () => {
  expect(soleHeader(['X-Sign', 'a', 'X-Sign', 'b'], 'x-sign')).toBe('repeated');
  expect(soleHeader(['X-Sign', 'a', 'Host', 'h', 'x-SIGN', 'a'], 'x-sign')).toBe('repeated');
  expect(soleHeader(['X-Sign', '', 'X-Sign', ''], 'x-sign')).toBe('repeated');
});

it('[SIG-7] only the whole name counts, and never a value', () => {
  expect(soleHeader([], 'x-sign')).toBe('absent');
  expect(soleHeader(['X-Sign-', 'a', 'X-Sig', 'a', 'X_Sign', 'a', ' X-Sign', 'a'], 'x-sign')).toBe('absent');
  expect(soleHeader(['A', 'X-Sign', 'x-sign', 'b'], 'x-sign')).toEqual({ value: 'b' });
  expect(soleHeader(['A', 'X-Sign'], 'x-sign')).toBe('absent');
  expect(soleHeader(['A', 'b', 'X-Sign'], 'x-sign')).toBe('absent');
});

it('[SIG-7] the first value is for headers on which nothing is decided', () => {
  expect(firstHeader(['X-Type', 'a', 'x-type', 'b'], 'x-type')).toBe('a');
  expect(firstHeader(['A', 'X-Type'], 'x-type')).toBeUndefined();
  expect(firstHeader(['A', 'b', 'X-Type'], 'x-type')).toBeUndefined();
  expect(firstHeader([], 'x-type')).toBeUndefined();
});

it('[SIG-7] counting by hand gives the same', () => {
  const name = fc.constantFrom('X-Sign', 'x-sign', 'x-sigN', 'X-Sig', 'Host');
  fc.assert(
    fc.property(fc.array(fc.tuple(name, fc.string()), { maxLength: 5 }), (pairs) => {
      const values = pairs.filter(([key]) => key.toLowerCase() === 'x-sign').map(([, value]) => value);
      const found = soleHeader(pairs.flat(), 'x-sign');
      if (values.length === 1) expect(found).toEqual({ value: values[0] });
      else expect(found).toBe(values.length === 0 ? 'absent' : 'repeated');
      expect(firstHeader(pairs.flat(), 'x-sign')).toBe(values[0]);
    }),
  );
});
