import { describe, expect, it } from 'vitest';
import { body, envelope, mac, now, nowSeconds, secret } from '../../test/support/signed-requests.ts';
import { compileScheme, type HmacDescription, verify } from './index.ts';

const bad = { ok: false, reason: 'bad_signature' };
const missing = { ok: false, reason: 'missing_signature' };
const stale = { ok: false, reason: 'stale' };
const description = {
  hmac: 'sha256',
  header: 'X-Sign',
  encoding: 'hex',
  signed: '{timestamp}.{body}',
  eventId: { digest: 'body' },
} as const;

const inHeader = (unit: 's' | 'ms'): HmacDescription => ({
  ...description,
  timestamp: { header: 'X-Time', unit },
});
const inField = (unit: 's' | 'ms'): HmacDescription => ({
  ...description,
  list: ',',
  field: 'v1',
  timestamp: { field: 't', unit },
});

/** A request whose MAC is right for the text of its timestamp, whatever that is: only the timestamp can be at fault. */
function judge(
  of: HmacDescription,
  time: string,
  { receivedAt = now, toleranceSeconds = 300, signedTime = time } = {},
) {
  const signature = mac('hex', [signedTime, '.', body]);
  const headers = of.list ? ['X-Sign', `t=${time},v1=${signature}`] : ['X-Sign', signature, 'X-Time', time];
  return verify(envelope(headers, body, receivedAt), compileScheme(of), [secret], { toleranceSeconds });
}

/** No number of seconds for us, however a lenient parser reads it. */
const noSeconds = [
  '',
  'NaN',
  'Infinity',
  'null',
  'now',
  '+1700000000',
  '-1700000000',
  '17e8',
  '1.7e9',
  '1700000000.0',
  '1700000000.5',
  '1700000000,0',
  '0x6553f100',
  '1_700_000_000',
  '1700000000n',
  '170000000',
  '01700000000',
  '1700000000000',
  '17000 00000',
  '١٧٠٠٠٠٠٠٠٠',
  '１７００００００００',
  '2023-11-14T22:13:20Z',
];
const spaced = [' 1700000000', '1700000000 ', '1700000000\n', '\t1700000000', '\u00a01700000000'];
const noMilliseconds = [
  '1700000000',
  '17000000000000',
  '170000000000',
  '1700000000000.0',
  '1.7e12',
  '+1700000000000',
];

describe('a timestamp', () => {
  it('[SIG-8] in seconds is ten digits and nothing else, though the sender signed what it sent', () => {
    expect(judge(inHeader('s'), '1700000000')).toEqual({ ok: true, secretIndex: 0, timestamp: now });
    expect(judge(inField('s'), '1700000000')).toEqual({ ok: true, secretIndex: 0, timestamp: now });
    for (const text of [...noSeconds, ...spaced])
      expect(judge(inHeader('s'), text), JSON.stringify(text)).toEqual(bad);
    for (const text of [...noSeconds, ' 1700000000'])
      expect(judge(inField('s'), text), JSON.stringify(text)).toEqual(bad);
  });

  it('[SIG-8] in milliseconds is thirteen digits and nothing else', () => {
    for (const of of [inHeader('ms'), inField('ms')]) {
      expect(judge(of, '1700000000000')).toEqual({ ok: true, secretIndex: 0, timestamp: now });
      for (const text of noMilliseconds) expect(judge(of, text), text).toEqual(bad);
    }
  });

  it('[SIG-8] that is absent is a missing signature, one that occurs twice is refused', () => {
    const signature = mac('hex', [`${nowSeconds}.`, body]);
    const unstamped = mac('hex', ['.', body]);
    const header = (...rest: string[]) =>
      verify(envelope(rest), compileScheme(inHeader('s')), [secret], { toleranceSeconds: 300 });
    const field = (value: string) =>
      verify(envelope(['X-Sign', value]), compileScheme(inField('s')), [secret], { toleranceSeconds: 300 });

    expect(header('X-Sign', unstamped)).toEqual(missing);
    expect(field(`v1=${unstamped}`)).toEqual(missing);
    const time = ['X-Time', `${nowSeconds}`];
    expect(header('X-Sign', signature, ...time)).toMatchObject({ ok: true });
    expect(header('X-Sign', signature, ...time, ...time)).toEqual(bad);
    expect(header('X-Sign', signature, ...time, 'x-time', '1800000000')).toEqual(bad);
    expect(field(`t=${nowSeconds},v1=${signature}`)).toMatchObject({ ok: true });
    expect(field(`t=${nowSeconds},v1=${signature},t=${nowSeconds}`)).toEqual(bad);
    expect(field(`t=1800000000,t=${nowSeconds},v1=${signature}`)).toEqual(bad);
  });

  it('[SIG-8] that is not the signed one is refused as a wrong signature', () => {
    for (const of of [inHeader('s'), inField('s')]) {
      const freshened = judge(of, `${nowSeconds}`, { signedTime: `${nowSeconds - 9999}` });
      expect(freshened).toEqual(bad);
    }
  });
});

describe('the window', () => {
  it('[SIG-8] lies both ways around receivedAt and takes in its ends', () => {
    for (const of of [inHeader('s'), inField('s')]) {
      for (const seconds of [-300, -299, 0, 299, 300])
        expect(judge(of, `${nowSeconds + seconds}`), `${seconds} s`).toMatchObject({ ok: true });
      for (const seconds of [-301, 301, -86_400, 86_400, -1_600_000_000 + 300, 8_000_000_000])
        expect(judge(of, `${nowSeconds + seconds}`.padStart(10, '0')), `${seconds} s`).toEqual(stale);
    }
  });

  it('[SIG-8] is exact to the millisecond where the timestamp is', () => {
    for (const ms of [-300_000, 300_000])
      expect(judge(inHeader('ms'), `${now + ms}`)).toEqual({ ok: true, secretIndex: 0, timestamp: now + ms });
    for (const ms of [-300_001, 300_001]) expect(judge(inHeader('ms'), `${now + ms}`)).toEqual(stale);
  });

  it('[SIG-8] counts whole seconds where the timestamp does: the fraction of the arrival is cut off', () => {
    const receivedAt = now + 999;
    expect(judge(inHeader('s'), `${nowSeconds - 300}`, { receivedAt })).toMatchObject({ ok: true });
    expect(judge(inHeader('s'), `${nowSeconds - 301}`, { receivedAt })).toEqual(stale);
    expect(judge(inHeader('s'), `${nowSeconds + 300}`, { receivedAt })).toMatchObject({ ok: true });
    expect(judge(inHeader('s'), `${nowSeconds + 301}`, { receivedAt })).toEqual(stale);
  });

  it('[SIG-8] is as wide as the tolerance', () => {
    const judged = (seconds: number, toleranceSeconds: number) =>
      judge(inHeader('s'), `${nowSeconds + seconds}`, { toleranceSeconds });
    expect(judged(0, 0)).toMatchObject({ ok: true });
    expect(judged(1, 0)).toEqual(stale);
    expect(judged(-1, 0)).toEqual(stale);
    expect(judged(86_400, 86_400)).toMatchObject({ ok: true });
    expect(judged(86_401, 86_400)).toEqual(stale);
  });

  it('[SIG-2] lies around receivedAt, not around the clock of this machine', () => {
    const longAgo = 1_000_000_000;
    const receivedAt = longAgo * 1000;
    expect(judge(inHeader('s'), `${longAgo}`, { receivedAt })).toEqual({
      ok: true,
      secretIndex: 0,
      timestamp: receivedAt,
    });
  });

  it('[SIG-8] is not looked at before the signature holds', () => {
    expect(judge(inHeader('s'), '1600000000', { signedTime: '1600000001' })).toEqual(bad);
  });

  it('[SIG-1] does not exist where the scheme names no timestamp', () => {
    const scheme = compileScheme({ ...description, signed: '{body}' });
    const headers = ['X-Sign', mac('hex', [body]), 'X-Time', '1'];
    for (const receivedAt of [0, now, now * 1000])
      expect(verify(envelope(headers, body, receivedAt), scheme, [secret], { toleranceSeconds: 1 })).toEqual({
        ok: true,
        secretIndex: 0,
      });
  });
});

it('[SIG-8] a time of reception or a tolerance that is no number fails closed', () => {
  const of = inHeader('s');
  expect(judge(of, '1700000000', { receivedAt: Number.NaN })).toEqual(stale);
  expect(judge(of, '1700000000', { toleranceSeconds: Number.NaN })).toEqual(stale);
});
