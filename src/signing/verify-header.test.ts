import { describe, expect, it } from 'vitest';
import {
  body,
  caseNames,
  caseOf,
  envelope,
  mac,
  nowSeconds,
  secret,
} from '../../test/support/signed-requests.ts';
import type { HmacDescription } from './index.ts';
import { compileScheme, verify } from './index.ts';

const window = { toleranceSeconds: 300 };
const bad = { ok: false, reason: 'bad_signature' };
const missing = { ok: false, reason: 'missing_signature' };
const accepted = { ok: true, secretIndex: 0 };

describe.each(caseNames)('%s', (name) => {
  const { description, scheme, headers, signature } = caseOf(name);
  const [, value = '', ...timestamp] = headers(signature());
  /** The verdict on a request whose signature header is `sign`; the rest is right. */
  const judge = (...sign: string[]) => verify(envelope([...sign, ...timestamp]), scheme, [secret], window);
  const claim = (text: string) => verify(envelope(headers(text)), scheme, [secret], window);

  it('[SIG-2] the right signature is accepted, whatever the case of the name of the header', () => {
    for (const spelling of ['X-Sign', 'x-sign', 'X-SIGN'])
      expect(judge(spelling, value)).toMatchObject(accepted);
  });

  it('[SIG-2] a header that is absent or empty is a missing signature', () => {
    expect(judge()).toEqual(missing);
    expect(judge('X-Signature', value, 'XX-Sign', value, 'X-Sig', value)).toEqual(missing);
    expect(judge('X-Sign', '')).toEqual(missing);
  });

  it('[SIG-7] a header that occurs twice is refused, with equal values and with others', () => {
    expect(judge('X-Sign', value, 'X-Sign', value)).toEqual(bad);
    expect(judge('X-Sign', value, 'x-SIGN', 'junk')).toEqual(bad);
    expect(judge('X-Sign', 'junk', 'X-Sign', value)).toEqual(bad);
    expect(judge('X-Sign', '', 'X-Sign', value)).toEqual(bad);
  });

  it('[SIG-4] a signature of another length is refused', () => {
    const right = signature();
    const shorter = [right.slice(0, -1), right.slice(1), right.slice(0, 32), right.slice(0, 1)];
    const longer = [`${right}0`, `${right}zz`, `0${right}`, `${right}=`, `${right}\0`, right + right];
    for (const text of [...shorter, ...longer]) expect(claim(text), JSON.stringify(text)).toEqual(bad);
    expect(claim('').ok).toBe(false);
  });

  it('[SIG-4] white space around a signature is refused, but behind an item of a list', () => {
    const right = signature();
    const behind = [`${right} `, `${right}\n`, `${right}\r\n`, `${right}\u00a0`];
    for (const text of [` ${right}`, `\t${right}`, `\n${right}`, ...(description.list ? [] : behind)])
      expect(claim(text), JSON.stringify(text)).toEqual(bad);
  });

  it('[SIG-4] a signature with a character of another alphabet is refused', () => {
    const right = signature();
    for (const at of [0, 20, right.length - 1])
      for (const sign of ['g', '-', '_', ' ', '\0', '%', 'é', '１', '\ud83d'])
        expect(claim(right.slice(0, at) + sign + right.slice(at + 1)), `${sign} at ${at}`).toEqual(bad);
    expect(claim(`0x${right.slice(2)}`)).toEqual(bad);
  });

  it('[SIG-4] the same MAC in the other encoding is refused', () => {
    const other = description.encoding === 'hex' ? 'base64' : 'hex';
    expect(claim(Buffer.from(signature(), description.encoding).toString(other))).toEqual(bad);
  });

  it('[SIG-4] one changed character anywhere is refused', () => {
    const right = signature();
    for (let at = 0; at < right.length - (description.encoding === 'base64' ? 1 : 0); at++) {
      const sign = right[at] === 'a' ? 'b' : 'a';
      expect(claim(right.slice(0, at) + sign + right.slice(at + 1)), `at ${at}`).toEqual(bad);
    }
  });
});

describe.each(caseNames.filter((name) => name.startsWith('hex')))('%s', (name) => {
  it('[SIG-4] upper-case and mixed hex are accepted', () => {
    const { scheme, headers, signature } = caseOf(name);
    const upper = signature().toUpperCase();
    expect(upper).toMatch(/[A-F]/);
    for (const text of [upper, signature().slice(0, 30) + upper.slice(30)])
      expect(verify(envelope(headers(text)), scheme, [secret], window)).toMatchObject(accepted);
  });
});

describe.each(caseNames.filter((name) => name.startsWith('base64')))('%s', (name) => {
  const { scheme, headers, signature } = caseOf(name);
  /** A body whose signature holds both characters that the URL-safe alphabet writes otherwise. */
  const sent = Array.from({ length: 200 }, (_, n) => Buffer.from(`body ${n}`)).find((candidate) =>
    /\+.*\/|\/.*\+/.test(signature(candidate)),
  ) as Buffer;
  const right = signature(sent);
  const claim = (text: string) => verify(envelope(headers(text), sent), scheme, [secret], window);

  it('[SIG-4] the URL-safe alphabet is refused', () => {
    expect(claim(right)).toMatchObject(accepted);
    expect(claim(right.replaceAll('+', '-').replaceAll('/', '_'))).toEqual(bad);
    expect(claim(right.replace('+', '-'))).toEqual(bad);
  });

  it('[SIG-4] padding that is missing, doubled or elsewhere is refused', () => {
    expect(claim(right.slice(0, -1))).toEqual(bad);
    expect(claim(`${right}=`)).toEqual(bad);
    expect(claim(`=${right.slice(0, -1)}`)).toEqual(bad);
    expect(claim(`${right.slice(0, -1)}A`)).toEqual(bad);
  });

  it('[SIG-4] another spelling of the same bytes is refused: the last character has two spare bits', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
    const last = alphabet[alphabet.indexOf(right.at(-2) ?? '') + 1];
    const respelt = `${right.slice(0, -2)}${last}=`;
    expect(Buffer.from(respelt, 'base64')).toEqual(Buffer.from(right, 'base64'));
    expect(claim(respelt)).toEqual(bad);
  });
});

describe('the prefix', () => {
  const { scheme, signature } = caseOf('hex');
  const judge = (value: string, ...beside: string[]) =>
    verify(envelope(['X-Sign', value, ...beside]), scheme, [secret], window);

  it('[SIG-6] that is missing, doubled, of another case or another word is refused before a right MAC', () => {
    const right = signature();
    for (const prefix of [
      '',
      'sha256',
      'SHA256=',
      'sha256==',
      'sha256=sha256=',
      ' sha256=',
      'sha256= ',
      'sha512=',
      'v1=',
    ])
      expect(judge(prefix + right), prefix).toEqual(bad);
  });

  it('[SIG-6] of SHA-1 is refused, and a SHA-1 header beside a wrong signature does not help', () => {
    expect(judge('sha1=b17e04cbb22afa8ffbff8796fc1894ed27badd9e')).toEqual(bad);
    expect(judge('sha256=b17e04cbb22afa8ffbff8796fc1894ed27badd9e')).toEqual(bad);
    expect(judge('sha256=junk', 'X-Sign-1', 'sha1=b17e04cbb22afa8ffbff8796fc1894ed27badd9e')).toEqual(bad);
  });
});

describe('a list of labels', () => {
  const { scheme, signature } = caseOf('hex with a timestamp in a list');
  const right = signature();
  const wrong = signature(Buffer.from('another'));
  const judge = (...items: string[]) =>
    verify(envelope(['X-Sign', items.join(',')]), scheme, [secret], window);
  const stamp = `t=${nowSeconds}`;

  it('[SIG-6] a right MAC under another label is refused', () => {
    for (const label of ['v0', 'v2', 'v10', 'V1', 'v1 ', 'xv1', 'v', '', 'v1[]'])
      expect(judge(stamp, `${label}=${right}`), label).toEqual(bad);
    expect(judge(stamp, right)).toEqual(bad);
    expect(judge(stamp, `v1=v1=${right}`)).toEqual(bad);
    expect(judge(stamp, `v1:${right}`)).toEqual(bad);
  });

  it('[SIG-6] unknown labels and empty items are passed over, in any order', () => {
    expect(judge(stamp, 'v0=junk', `v1=${right}`, 'scheme=none', '')).toMatchObject(accepted);
    expect(judge(`v1=${right}`, 'x', ` ${stamp}`)).toMatchObject(accepted);
  });

  it('[SIG-10] one of several signatures under the label is enough', () => {
    expect(judge(stamp, `v1=${wrong}`, 'v1=junk', `v1=${right}`)).toMatchObject(accepted);
    expect(judge(stamp, `v1=${wrong}`, `v1=${wrong}`)).toEqual(bad);
  });

  it('[SIG-7] 20 items are judged, 21 are refused', () => {
    const filled = (count: number) => [stamp, ...Array<string>(count - 2).fill(`v1=${wrong}`), `v1=${right}`];
    expect(judge(...filled(20))).toMatchObject(accepted);
    expect(judge(...filled(21))).toEqual(bad);
    expect(judge(stamp, `v1=${right}`, ...Array<string>(19).fill(''))).toEqual(bad);
  });

  it('[SIG-4] a list without a signature is refused', () => {
    for (const text of [',', ',,,', 't', 'v1', 'v1=', stamp]) expect(judge(text), text).toEqual(bad);
  });
});

it('[SIG-7] a list without labels is judged item by item, at most 20', () => {
  const scheme = compileScheme({ ...caseOf('base64').description, list: ',' });
  const right = mac('base64', [body]);
  const judge = (...items: string[]) =>
    verify(envelope(['X-Sign', items.join(', ')]), scheme, [secret], window);
  expect(judge('junk', right)).toEqual(accepted);
  expect(judge(...Array<string>(19).fill('junk'), right)).toEqual(accepted);
  expect(judge(...Array<string>(20).fill('junk'), right)).toEqual(bad);
});

describe('an id in the signed text', () => {
  const description: HmacDescription = {
    hmac: 'sha256',
    header: 'webhook-signature',
    list: ' ',
    prefix: 'v1,',
    encoding: 'base64',
    signed: '{id}.{timestamp}.{body}',
    timestamp: { header: 'webhook-timestamp', unit: 's' },
    eventId: { header: 'webhook-id' },
  };
  const scheme = compileScheme(description);
  const judge = (ids: string[], signedId = ids[0] ?? '') => {
    const signature = mac('base64', [`${signedId}.${nowSeconds}.`, body]);
    const fixed = ['webhook-signature', `v1,${signature}`, 'webhook-timestamp', `${nowSeconds}`];
    const request = envelope([...fixed, ...ids.flatMap((id) => ['Webhook-Id', id])]);
    return verify(request, scheme, [secret], window);
  };

  it('[SIG-2] that is the one in the header is accepted, another one is refused', () => {
    expect(judge(['msg_1'])).toMatchObject(accepted);
    expect(judge(['msg_2'], 'msg_1')).toEqual(bad);
    expect(judge(['MSG_1'], 'msg_1')).toEqual(bad);
  });

  it('[SIG-7] whose header is absent or repeated is refused', () => {
    expect(judge([], '')).toEqual(missing);
    expect(judge(['msg_1', 'msg_1'])).toEqual(bad);
    expect(judge(['msg_1', 'msg_2'])).toEqual(bad);
  });

  it('[SIG-9] that is ill-formed is refused, though it was signed so', () => {
    expect(judge(['a'.repeat(200)])).toMatchObject(accepted);
    for (const id of ['', 'a'.repeat(201), 'a b', 'a\n', 'é', 'a,b', "a'b"])
      expect(judge([id]), id).toEqual(bad);
  });
});

it('[SIG-4] only space and tab are white space around an item of a list', () => {
  const { scheme, headers, signature } = caseOf('hex with a timestamp in a list');
  const [name = '', value = ''] = headers(signature());
  const judge = (text: string) => verify(envelope([name, text]), scheme, [secret], window);
  expect(judge(value.replace(',', ' ,\t'))).toMatchObject(accepted);
  expect(judge(`${value}\u00a0`)).toEqual(bad);
});

it('[SIG-9] an id that holds the character beside it in the signed text is refused, not shifted', () => {
  const scheme = compileScheme({
    hmac: 'sha256',
    header: 'X-Sign',
    encoding: 'hex',
    signed: '{id}.{body}',
    eventId: { header: 'X-Id' },
  });
  const judge = (id: string, sent: string) =>
    verify(
      envelope(['X-Sign', mac('hex', ['a.b.c']), 'X-Id', id], Buffer.from(sent)),
      scheme,
      [secret],
      window,
    );
  expect(judge('a', 'b.c')).toMatchObject(accepted);
  expect(judge('a.b', 'c')).toEqual(bad);
});
