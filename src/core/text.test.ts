import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cleanText, isEventId, isEventType, sourceCodePattern } from './text.ts';

it('[IN-9] cleanText replaces NUL and lone surrogates and keeps everything else', () => {
  expect(cleanText('a\0b\0')).toBe('a\ufffdb\ufffd');
  expect(cleanText('a\ud83d')).toBe('a\ufffd');
  expect(cleanText('\ude00b')).toBe('\ufffdb');
  expect(cleanText('\0\ud800')).toBe('\ufffd\ufffd');
  for (const text of [
    '',
    'plain',
    'é 😀 日本',
    'a\nb\t\r',
    '\x01\x7f\u0085\ufeff\uffff',
    "'; drop table x --",
  ])
    expect(cleanText(text)).toBe(text);
});

it('[IN-9] cleanText cuts at 200 characters, or at the limit that it is given', () => {
  expect(cleanText('a'.repeat(200))).toHaveLength(200);
  expect(cleanText('a'.repeat(201))).toBe('a'.repeat(200));
  expect(cleanText('abcdef', 3)).toBe('abc');
  expect(cleanText('abcdef', 0)).toBe('');
});

it('[IN-9] cleanText never leaves half of a character where it cuts', () => {
  expect(cleanText(`${'a'.repeat(199)}😀`)).toBe(`${'a'.repeat(199)}\ufffd`);
  expect(cleanText(`${'a'.repeat(198)}😀b`)).toBe(`${'a'.repeat(198)}😀`);
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.nat(20), (text, limit) => {
      const cleaned = cleanText(text, limit);
      expect(cleaned.length).toBeLessThanOrEqual(limit);
      expect(cleaned.isWellFormed() && !cleaned.includes('\0')).toBe(true);
      expect(cleanText(cleaned, limit)).toBe(cleaned);
    }),
  );
});

it('[IN-9] an event type is printable ASCII, 1 to 200 characters', () => {
  for (const type of ['a', ' ', '~', 'invoice.paid', 'Order Created', 'a'.repeat(200)])
    expect(isEventType(type)).toBe(true);
  for (const type of ['', 'a'.repeat(201), 'a\n', '\na', '\x1f', '\x7f', '\0', 'é', '\u00a0', '\ud800'])
    expect(isEventType(type), JSON.stringify(type)).toBe(false);
});

it('[SIG-9] an event id is made of letters, digits and a few signs, 1 to 200 characters', () => {
  for (const id of ['a', '0', 'AZaz09_.:=/+-', 'a'.repeat(200)]) expect(isEventId(id)).toBe(true);
  for (const id of ['', 'a'.repeat(201), 'a b', 'a\n', 'é', 'a,b', 'a@b', 'a#b', 'a~', 'a%', 'ａ', '\0'])
    expect(isEventId(id), JSON.stringify(id)).toBe(false);
});

it('[IN-12] a source code is lower case, begins with a letter or digit and has at most 64 characters', () => {
  for (const code of ['a', '0', 'github', 'shop-1_b', 'a'.repeat(64)])
    expect(code).toMatch(sourceCodePattern);
  for (const code of ['', '-a', '_a', 'A', 'a.b', 'a/b', 'a b', 'a\n', 'é', 'a'.repeat(65), '..'])
    expect(code).not.toMatch(sourceCodePattern);
});
