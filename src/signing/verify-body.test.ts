import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { caseNames, caseOf, envelope, secret } from '../../test/support/signed-requests.ts';
import { verify } from './index.ts';

const bad = { ok: false, reason: 'bad_signature' };
const text = (value: string) => Buffer.from(value);

/** What was signed, and what a careless hop makes of it: two spellings of "the same" body. */
const pairs: [string, Buffer, Buffer][] = [
  ['one byte changed', text('{"amount":100}'), text('{"amount":900}')],
  ['one bit changed in the last byte', Buffer.from([1, 2, 3]), Buffer.from([1, 2, 2])],
  ['JSON with other spaces', text('{"a": 1}'), text('{"a":1}')],
  ['JSON with another order of keys', text('{"b":1,"a":2}'), text('{"a":2,"b":1}')],
  ['JSON with another spelling of a number', text('{"a":1.0}'), text('{"a":1}')],
  ['JSON with another escape', text('{"a":"\\u00e9"}'), text('{"a":"é"}')],
  ['JSON with the case of an escape changed', text('"\\u001B"'), text('"\\u001b"')],
  ['JSON with a duplicate key dropped', text('{"a":1,"a":2}'), text('{"a":2}')],
  ['CRLF for LF', text('a\nb\n'), text('a\r\nb\r\n')],
  ['a trailing line end dropped', text('{}\r\n'), text('{}')],
  ['a trailing line end added', text('{}'), text('{}\n')],
  ['a byte order mark dropped', text('\ufeff{}'), text('{}')],
  ['a byte order mark added', text('{}'), text('\ufeff{}')],
  ['NFC for NFD', text('é'.normalize('NFD')), text('é'.normalize('NFC'))],
  ['NFD for NFC', text('한글'.normalize('NFC')), text('한글'.normalize('NFD'))],
  ['invalid UTF-8 replaced', Buffer.from([0x22, 0xff, 0xfe, 0x22]), text('"\ufffd\ufffd"')],
  ['a lone surrogate replaced', Buffer.from([0xed, 0xa0, 0x80]), text('\ufffd\ufffd\ufffd')],
  ['an overlong form shortened', Buffer.from([0xc0, 0xaf]), text('/')],
  ['Latin-1 made UTF-8', Buffer.from([0xe9]), text('é')],
  ['UTF-16 made UTF-8', Buffer.from('{}', 'utf16le'), text('{}')],
  ['cut at a NUL', Buffer.from('a\0b'), text('a')],
  ['a NUL added to nothing', text(''), Buffer.from([0])],
  ['emptied', text('{}'), text('')],
  ['percent-decoded', text('a=%41+b'), text('a=A b')],
];

describe.each(caseNames)('%s', (name) => {
  const { scheme, headers, signature } = caseOf(name);
  const judge = (signed: Buffer, sent: Buffer) =>
    verify(envelope(headers(signature(signed)), sent), scheme, [secret], { toleranceSeconds: 0 });

  it.each(pairs)('[SIG-3] the bytes as signed verify, but not with %s', (_, signed, sent) => {
    expect(judge(signed, signed)).toMatchObject({ ok: true, secretIndex: 0 });
    expect(judge(signed, sent)).toEqual(bad);
    expect(judge(sent, signed)).toEqual(bad);
  });

  it('[SIG-3] any bytes verify, and one flipped bit, one byte more or one less is refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 300 }), fc.nat(), (bytes, random) => {
        const signed = Buffer.from(bytes);
        const flipped = Buffer.from(bytes);
        const at = random % bytes.length;
        flipped[at] = (flipped[at] as number) ^ (1 << (random % 8));
        expect(judge(signed, signed)).toMatchObject({ ok: true });
        expect(judge(signed, flipped)).toEqual(bad);
        expect(judge(signed, signed.subarray(1))).toEqual(bad);
        expect(judge(signed, Buffer.concat([signed, signed.subarray(0, 1)]))).toEqual(bad);
      }),
    );
  });

  it('[SIG-3] a body of a megabyte verifies without being read as text', () => {
    const large = Buffer.alloc(1024 * 1024, 0xff);
    expect(judge(large, large)).toMatchObject({ ok: true });
  });
});

describe('what is signed around the body', () => {
  it('[SIG-3] cannot be shifted into the body: the timestamp has one length', () => {
    const { scheme, headers, signature } = caseOf('base64 with a timestamp in a header');
    const signed = signature(text('.5{}'), { timestamp: '1700000000' });
    const judge = (time: string, sent: string) =>
      verify(envelope(headers(signed, time), text(sent)), scheme, [secret], { toleranceSeconds: 300 });
    expect(judge('1700000000', '.5{}')).toMatchObject({ ok: true });
    expect(judge('1700000000.', '5{}')).toEqual(bad);
    expect(judge('170000000', '0..5{}')).toEqual(bad);
  });
});
