import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJsonBody } from './json-body.ts';

const parse = (text: string | Buffer) => parseJsonBody(Buffer.from(text as string));
const nested = (depth: number, open: string, close: string, middle = '') =>
  open.repeat(depth) + middle + close.repeat(depth);
const keys = (count: number, pair = '"":0') => `{${Array<string>(count).fill(pair).join(',')}}`;

describe('the depth of a body', () => {
  it('[IN-1] is at most 64, of lists, objects and both', () => {
    const shapes = (depth: number) => [
      nested(depth, '[', ']'),
      nested(depth, '{"a":', '}', '1'),
      nested(depth / 2, '[{"a":', '}]', '1'),
      ` [1,${nested(depth - 1, '[', ']')},"x"] `,
      `\ufeff${nested(depth, '[', ']')}`,
    ];
    for (const text of shapes(64))
      expect(parse(text), text).toEqual({ payload: JSON.parse(text.replace('\ufeff', '')) });
    for (const text of [...shapes(66), nested(65, '[', ']'), nested(65, '{"a":', '}', '1')])
      expect(parse(text), text).toBe('bad_body');
  });

  it('[IN-1] does not grow with siblings, only with nesting', () => {
    const wide = `[${Array<string>(1000).fill('[[]],{"a":{}}').join(',')}]`;
    expect(parse(wide)).toEqual({ payload: JSON.parse(wide) });
  });

  it('[IN-1] is not counted inside strings, however they are escaped', () => {
    const values = [
      '['.repeat(100),
      '{'.repeat(100),
      `"${'['.repeat(100)}`,
      `\\"${'['.repeat(100)}`,
      '\\'.repeat(99),
      '\\"'.repeat(99),
    ];
    for (const value of values) {
      const text = JSON.stringify({ [value]: value, after: value });
      expect(parse(text), text).toEqual({ payload: { [value]: value, after: value } });
    }
  });

  it('[IN-1] is counted again behind a string that ends in escapes', () => {
    const deep = nested(65, '[', ']');
    for (const before of ['""', '"\\""', '"\\\\"', '"\\\\\\""', '"a\\\\\\\\"'])
      expect(parse(`[${before},${deep}]`), before).toBe('bad_body');
  });

  it('[IN-1] cannot be hidden behind brackets that close too much', () => {
    expect(parse(`${']'.repeat(100)}${nested(100, '[', ']')}`)).toBe('bad_body');
    expect(parse(`${'}'.repeat(100)}{}`)).toBe('bad_body');
  });

  it('[IN-1] of a million is refused before it reaches the parser', () => {
    expect(parse('['.repeat(1_000_000))).toBe('bad_body');
    expect(parse(nested(200_000, '{"a":', '}', '1'))).toBe('bad_body');
  });
});

describe('the number of keys', () => {
  it('[IN-1] is at most 100,000 in the shortest form, duplicates counted', () => {
    expect(parse(keys(100_000))).toEqual({ payload: { '': 0 } });
    expect(parse(keys(100_001))).toBe('bad_body');
  });

  it('[IN-1] is at most 100,000 with longer keys and values, and over several objects', () => {
    expect(parse(keys(100_000, '"key": "v:a:l"'))).toEqual({ payload: { key: 'v:a:l' } });
    expect(parse(keys(100_001, '"key": "v:a:l"'))).toBe('bad_body');
    const objects = (count: number) => `[${Array<string>(count).fill('{"a":{"b":1}}').join(',')}]`;
    expect(parse(objects(50_000))).not.toBe('bad_body');
    expect(parse(`[${objects(50_000)},{"a":1}]`)).toBe('bad_body');
  });

  it('[IN-1] does not count colons inside strings or the items of lists', () => {
    expect(parse(JSON.stringify(':'.repeat(600_000)))).toEqual({ payload: ':'.repeat(600_000) });
    expect(parse(`{"${':'.repeat(600_000)}":1}`)).not.toBe('bad_body');
    expect(parse(`[${Array<string>(300_000).fill('0').join(',')}]`)).not.toBe('bad_body');
  });
});

describe('the text of a body', () => {
  it('[IN-1] is not empty', () => {
    for (const text of ['', ' ', '\n', '\ufeff', '\ufeff ', '\0']) expect(parse(text)).toBe('bad_body');
  });

  it('[IN-1] is valid UTF-8, also inside strings', () => {
    const bytes = [
      [0xff],
      [0xc0, 0xaf],
      [0xed, 0xa0, 0x80],
      [0xf4, 0x90, 0x80, 0x80],
      [0xe2, 0x82],
      [0x80],
      [0xe9],
    ];
    for (const invalid of bytes) {
      const text = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(invalid), Buffer.from('"}')]);
      expect(parse(text), text.toString('hex')).toBe('bad_body');
    }
    expect(parse(Buffer.from('{"a":1}', 'utf16le'))).toBe('bad_body');
    expect(parse('"é 日本 😀 \u2028"')).toEqual({ payload: 'é 日本 😀 \u2028' });
  });

  it('[IN-1] may begin with one byte order mark', () => {
    expect(parse('\ufeff{"a":1}')).toEqual({ payload: { a: 1 } });
    expect(parse('\ufeff\ufeff{"a":1}')).toBe('bad_body');
    expect(parse('{"a":1}\ufeff')).toBe('bad_body');
  });

  it('[IN-1] is whole: nothing open, nothing behind, nothing that is only nearly JSON', () => {
    const broken = [
      '{',
      '[',
      '"',
      '"a',
      '"a\\"',
      '{"a":"b',
      '{"a',
      '{"a":',
      '[1,]',
      '{"a":1,}',
      '{}{}',
      '[] x',
      '{a:1}',
    ];
    const nearly = [
      "{'a':1}",
      'NaN',
      'undefined',
      '01',
      '+1',
      '.5',
      '0x1',
      '"a\nb"',
      '"\\x41"',
      '/* */1',
      'a=1&b=2',
      '<a/>',
    ];
    for (const text of [...broken, ...nearly]) expect(parse(text), text).toBe('bad_body');
  });

  it('[IN-1] may be a scalar', () => {
    for (const value of [null, true, false, 0, -1.5, '', 'text'])
      expect(parse(JSON.stringify(value))).toEqual({ payload: value });
    expect(parse(' 1 ')).toEqual({ payload: 1 });
  });

  it('[IN-1] may hold what other parsers stumble over', () => {
    expect(parse('{"a":1,"a":2}')).toEqual({ payload: { a: 2 } });
    expect(parse('["\\ud800","\\u0000"]')).toEqual({ payload: ['\ud800', '\0'] });
    expect(parse('[1e131071,-1e131071]')).toEqual({ payload: [Infinity, -Infinity] });
    expect(parse(`[${'9'.repeat(400)}.5]`)).toEqual({ payload: [Infinity] });
    expect(parse('[9007199254740993]')).toEqual({ payload: [9007199254740992] });
  });

  it('[IN-1] may name __proto__, which stays a plain key', () => {
    const parsed = parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}');
    const payload = (parsed as { payload: object }).payload;
    expect(Object.getPrototypeOf(payload)).toBe(Object.prototype);
    expect(Object.hasOwn(payload, '__proto__')).toBe(true);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  it('[IN-1] may be one long run of escapes: it is read once, not once for each quote', () => {
    expect(parse(`"${'\\\\'.repeat(500_000)}"`)).toEqual({ payload: '\\'.repeat(500_000) });
    expect(parse(`"${'\\\\'.repeat(500_000)}\\"`)).toBe('bad_body');
    expect(parse(`"${'\\"'.repeat(500_000)}"`)).toEqual({ payload: '"'.repeat(500_000) });
    expect(parse('"'.repeat(1_000_001))).toBe('bad_body');
  });
});

describe('JSON.parse', () => {
  const byJsonParse = (text: string) => {
    try {
      return JSON.stringify({ payload: JSON.parse(text) });
    } catch {
      return '"bad_body"';
    }
  };

  it('[IN-1] gives the same for every JSON value within the bounds', () => {
    fc.assert(
      fc.property(fc.json({ stringUnit: 'binary' }), (text) => {
        expect(JSON.stringify(parse(text))).toBe(byJsonParse(text));
      }),
    );
  });

  it('[IN-1] gives the same for texts that are nearly JSON', () => {
    const signs = fc.constantFrom('"', '\\', '{', '}', '[', ']', ':', ',', '1', 'a', ' ', 'é');
    const cut = fc.tuple(fc.json(), fc.nat(), signs).map(([text, random, sign]) => {
      const at = random % (text.length + 1);
      return text.slice(0, at) + sign + text.slice(at);
    });
    fc.assert(
      fc.property(fc.oneof(cut, fc.string({ unit: signs, maxLength: 20 })), (text) => {
        expect(JSON.stringify(parse(text))).toBe(byJsonParse(Buffer.from(text).toString()));
      }),
      { numRuns: 1000 },
    );
  });
});
