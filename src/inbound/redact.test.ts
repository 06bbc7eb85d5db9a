import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { headersForJournal, queryForJournal, redacted } from './redact.ts';

const journaled = (rawHeaders: string[], alsoSecret = 'x-sign') =>
  JSON.parse(headersForJournal(rawHeaders, new Set([alsoSecret])));

const secretNames = [
  'X-Hub-Signature',
  'X-Hub-Digest',
  'X-Hub-Signature-256',
  'Stripe-Signature',
  'webhook-signature',
  'X-Shopify-Hmac-Sha256',
  'HmacSignature',
  'Authorization',
  'Proxy-Authorization',
  'AUTHORIZATION',
  'Cookie',
  'Set-Cookie',
  'X-Gitlab-Token',
  'X-Telegram-Bot-Api-Secret-Token',
  'X-CSRF-Token',
  'X-Amz-Security-Token',
  'X-Api-Key',
  'ApiKey',
  'X-Webhook-Secret',
  'X-Password',
  'X-Session-Id',
  'X-Credential',
  'X-JWT-Assertion',
];
const plainNames = [
  'Host',
  'Content-Type',
  'Content-Length',
  'User-Agent',
  'X-GitHub-Event',
  'X-GitHub-Delivery',
  'webhook-id',
  'webhook-timestamp',
  'X-Forwarded-For',
  'Date',
];

describe('the headers of a journal row', () => {
  it('[IN-13] show neither signatures, credentials, cookies nor tokens, but their names', () => {
    for (const name of secretNames) expect(journaled([name, 'the value']), name).toEqual([[name, redacted]]);
  });

  it('[IN-13] show the others', () => {
    for (const name of plainNames)
      expect(journaled([name, 'the value']), name).toEqual([[name, 'the value']]);
  });

  it('[IN-13] do not show the header that the scheme names, whatever its name and case', () => {
    expect(journaled(['X-Sign', 'a', 'x-SIGN', 'b', 'X-Sign-2', 'c', 'Sign', 'd'])).toEqual([
      ['X-Sign', redacted],
      ['x-SIGN', redacted],
      ['X-Sign-2', 'c'],
      ['Sign', 'd'],
    ]);
    expect(journaled(['X-Sign', 'a'], 'x-other')).toEqual([['X-Sign', 'a']]);
  });

  it('[IN-13] keep their order, repeats and spelling', () => {
    const headers = ['B', '1', 'a', '2', 'b', '3', 'Cookie', 'x', 'B', '1', 'cookie', 'y'];
    expect(journaled(headers)).toEqual([
      ['B', '1'],
      ['a', '2'],
      ['b', '3'],
      ['Cookie', redacted],
      ['B', '1'],
      ['cookie', redacted],
    ]);
    expect(journaled([])).toEqual([]);
    expect(journaled(['__proto__', 'a'])).toEqual([['__proto__', 'a']]);
  });

  it('[IN-13] are valid JSON for any names and values, with no value of a secret name in it', () => {
    const name = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...secretNames, ...plainNames));
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.string({ unit: 'binary' }))), (pairs) => {
        const rows: [string, string][] = journaled(pairs.flat());
        expect(rows.map(([key]) => key)).toEqual(pairs.map(([key]) => key));
        for (const [index, [key, value]] of rows.entries()) {
          if (secretNames.includes(key)) expect(value).toBe(redacted);
          else expect([pairs[index]?.[1], redacted]).toContain(value);
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe('the query of a journal row', () => {
  const cases: [string, string][] = [
    ['', ''],
    ['a=1&b=2', 'a=1&b=2'],
    ['token=abc', `token=${redacted}`],
    ['a=1&access_token=abc&b=2', `a=1&access_token=${redacted}&b=2`],
    ['sig=abc&code=abc&signature=abc', `sig=${redacted}&code=${redacted}&signature=${redacted}`],
    ['design=a&encode=b&country_code=c', 'design=a&encode=b&country_code=c'],
    ['TOKEN=abc&api-key=abc&apikey=abc', `TOKEN=${redacted}&api-key=${redacted}&apikey=${redacted}`],
    ['api_key=abc', `api_key=${redacted}`],
    ['token=a=b=c', `token=${redacted}`],
    ['token=', `token=${redacted}`],
    ['token', 'token'],
    ['token=a&token=b', `token=${redacted}&token=${redacted}`],
    ['token[]=a&x[secret]=b', `token[]=${redacted}&x[secret]=${redacted}`],
    ['%74oken=abc&to%6Ben=abc', `%74oken=${redacted}&to%6Ben=${redacted}`],
    ['%74%6F%6B%65%6E=abc', `%74%6F%6B%65%6E=${redacted}`],
    ['token%=abc', `token%=${redacted}`],
    ['a=%zz&&=x&%', 'a=%zz&&=x&%'],
    ['a=token&b=secret%26token', 'a=token&b=secret%26token'],
    ['a=%E2%82%AC&b=+', 'a=%E2%82%AC&b=+'],
  ];

  it.each(cases)('[IN-13] shows "%s" as "%s"', (query, wanted) => {
    expect(queryForJournal(query)).toBe(wanted);
  });

  it('[IN-13] never shows the value of a secret parameter, however its name is written', () => {
    const name = fc.constantFrom(
      'token',
      'signature',
      'client_secret',
      'password',
      'api-key',
      'session',
      'code',
      'sig',
      'jwt',
    );
    const spelling = fc.array(fc.boolean(), { minLength: 16, maxLength: 16 });
    fc.assert(
      fc.property(name, spelling, fc.webQueryParameters(), (secret, escaped, others) => {
        const spelt = [...secret]
          .map((sign, at) => (escaped[at] ? `%${sign.charCodeAt(0).toString(16)}` : sign))
          .join('');
        const rest = others.replaceAll('canary', '');
        const shown = queryForJournal(`${rest}&${spelt}=canary&b=1`);
        expect(shown).not.toContain('canary');
        expect(shown.endsWith(`&${spelt}=${redacted}&b=1`)).toBe(true);
      }),
    );
  });

  it('[IN-13] never makes a query that cannot be decoded throw', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (query) => {
        expect(queryForJournal(query).split('&')).toHaveLength(query.split('&').length);
      }),
    );
  });
});

it('[IN-13] more names than are remembered are still judged', () => {
  for (let n = 0; n < 2_100; n++) headersForJournal([`X-Name-${n}`, 'a'], new Set());
  expect(journaled(['X-Late-Token', 'a', 'X-Late-Name', 'b', 'X-Late-Token', 'c'])).toEqual([
    ['X-Late-Token', redacted],
    ['X-Late-Name', 'b'],
    ['X-Late-Token', redacted],
  ]);
});

it('[IN-13] a broken escape in the name of a parameter does not hide what the others spell', () => {
  expect(queryForJournal('%74oken%ZZ=x')).toBe('%74oken%ZZ=[redacted]');
});
