import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  addressesProblem,
  createAddressPolicy,
  hostProblem,
  judgeTarget,
  mostOpenNetworks,
  openNetworkProblems,
  parseTarget,
  type Target,
} from './address-policy.ts';
import { addressProblem } from './address-ranges.ts';

/** Inputs with verdicts; host and address alone are judged, http is admitted, nothing is opened. */
const file = new URL('../../test/data/egress-cases.tsv', import.meta.url);
const cases = readFileSync(file, 'utf8')
  .trimEnd()
  .split('\n')
  .slice(1)
  .map((line) => line.split('\t') as [string, string, string]);

const strict = createAddressPolicy();
const closed = () => false;
const inFile = createAddressPolicy({
  openNetworks: ['10.20.0.0/16', 'fd12::/16'],
  allowHttpToOpen: true,
  allowLoopback: true,
});

it('[EGR-1] the table of cases is whole', () => {
  expect(cases.length).toBe(137);
  expect(new Set(cases.map(([, , verdict]) => verdict.split('-')[0]))).toEqual(
    new Set(['ALLOW', 'BLOCK', 'REJECT', 'RESOLVE']),
  );
});

it.each(cases)('[EGR-1][EGR-4][EGR-5] %s with host %s is %s', (quoted, host, verdict) => {
  const text = JSON.parse(quoted);
  expect(verdictOn(text)).toBe(verdict);
  if (host !== '-') expect(new URL(text).hostname.replace(/^\[|\]$/g, '')).toBe(host);
});

describe('[EGR-1] a URL', () => {
  it.each([
    ['https://hook.example.com/a?b=c', undefined],
    ['https://hook.example.com:8443/', undefined],
    ['https://hook.example.com./', undefined],
    ['https://8.8.8.8/', undefined],
    ['http://hook.example.com/', 'scheme'],
    ['http://8.8.8.8/', 'scheme'],
    ['http://[2001:4860:4860::8888]/', 'scheme'],
    ['https://hook.example.com/#part', 'fragment'],
    ['https://hook.example.com/#', 'fragment'],
    ['https://hook.example.com/a b', 'raw'],
    ['https://hook.example.com/\u0085', 'raw'],
    ['https://hook.example.com/\u2028', 'raw'],
    ['https://hook.example.com/\n', 'raw'],
    [`https://hook.example.com/${'a'.repeat(2_048 - 25)}`, undefined],
    [`https://hook.example.com/${'a'.repeat(2_049 - 25)}`, 'raw'],
    ['https://hook.example.com:6000/', 'port'],
    ['https://hook.example.com:10080/', 'port'],
    ['https://example.com../', 'name'],
    ['https://a..example.com/', 'name'],
    ['https://./', 'name'],
    [`https://${'a'.repeat(64)}.example.com/`, 'name'],
    ['https://a*b.example.com/', 'name'],
    ['https://printer.local/', 'name'],
    ['https://printer.lan./', 'name'],
    ['https://a.localhost/', 'name'],
    ['https://127.0.0.1/', 'address'],
    ['', 'parse'],
  ])('%s: %s', (text, problem) => {
    expect(problemOf(text, strict)).toBe(problem);
  });
});

describe('[EGR-2][EGR-3] what a name resolved to', () => {
  const named = targetOf('https://hook.example.com/');

  it.each([
    [['93.184.216.34'], undefined],
    [['93.184.216.34', '2606:2800:220:1::1'], undefined],
    [['93.184.216.34', '::1'], 'address'],
    [['10.0.0.1', '93.184.216.34'], 'address'],
    [['93.184.216.34', 'fe80::1%eth0'], 'address'],
    [['93.184.216.34', 'no address'], 'address'],
    [['93.184.216.34', ''], 'address'],
    [['0x7f.1'], 'address'],
    [['::ffff:93.184.216.34'], 'address'],
  ])('%j: %s', (addresses, problem) => {
    expect(addressesProblem(named, addresses, strict)).toBe(problem);
  });
});

describe('[EGR-4] each edge of an IPv4 range', () => {
  it.each([
    ['0.255.255.255', '1.0.0.0'],
    ['10.0.0.0', '9.255.255.255'],
    ['127.255.255.255', '128.0.0.0'],
    ['168.63.129.16', '168.63.129.17'],
    ['169.254.0.0', '169.253.255.255'],
    ['192.31.196.255', '192.31.197.0'],
    ['192.52.193.0', '192.52.192.255'],
    ['192.88.99.0', '192.88.98.255'],
    ['192.168.255.255', '192.169.0.0'],
    ['192.175.48.255', '192.175.49.0'],
    ['224.0.0.0', '223.255.255.255'],
  ])('%s is special, %s is not', (special, open) => {
    expect(addressProblem(special, closed)).toBe('special');
    expect(addressProblem(open, closed)).toBeUndefined();
  });
});

describe('[EGR-5] an IPv6 address', () => {
  it.each([
    ['2001:200::1', undefined],
    ['2001:db8:ffff:ffff::1', 'special'],
    ['2003::1', undefined],
    ['3fff:fff::1', 'special'],
    ['3fff:1000::1', undefined],
    ['3ffe::1', undefined],
    ['5f00::1', 'special'],
    ['2a00::200:5efe:808:808', 'isatap'],
    ['2a00::0200:5EFE:8.8.8.8', 'isatap'],
    ['2a00::5efe:0:0:1', undefined],
    ['2a00::300:5efe:808:808', undefined],
    ['2a00::1%1', 'unreadable'],
  ])('%s: %s', (address, problem) => {
    expect(addressProblem(address, closed)).toBe(problem);
  });
});

describe('[EGR-6] opened networks', () => {
  const opened = createAddressPolicy({ openNetworks: ['10.0.0.0/8', 'fc00::/7', '100.64.0.0/10'] });

  it.each([
    ['https://10.1.2.3/', undefined],
    ['https://[fd12::1]/', undefined],
    ['https://router/', undefined],
    ['https://db.internal/', undefined],
    ['https://nas.lan/', undefined],
    ['https://192.168.0.1/', 'address'],
    ['https://127.0.0.1/', 'address'],
    ['https://[::ffff:10.1.2.3]/', 'address'],
    ['https://[::10.1.2.3]/', 'address'],
    ['https://[fd12::5efe:a00:1]/', 'address'],
    ['https://100.100.100.200/', 'address'],
    ['https://[fd00:ec2::254]/', 'address'],
    ['https://[fd00:ec2:0:0::23]/', 'address'],
    ['https://[fd20:ce::254]/', 'address'],
    ['https://localhost/', 'name'],
    ['https://metadata/', 'name'],
    ['https://metadata.google.internal./', 'name'],
    ['https://x.metadata.google.internal/', 'name'],
    ['http://10.1.2.3/', 'scheme'],
    ['http://router/', 'scheme'],
  ])('%s: %s', (text, problem) => {
    expect(problemOf(text, opened)).toBe(problem);
  });

  it.each([
    ['0.0.0.0/0', /covers loopback/],
    ['::/0', /covers loopback/],
    ['127.0.0.0/8', /covers loopback/],
    ['127.0.0.1/32', /covers loopback/],
    ['169.254.169.254/32', /link-local/],
    ['fe80::/10', /link-local/],
    ['::1/128', /covers loopback/],
    ['224.0.0.0/4', /multicast/],
    ['8.8.8.0/24', /is not private/],
    ['10.0.0.0/7', /is not private/],
    ['172.16.0.0/11', /is not private/],
    ['::ffff:10.0.0.0/104', /is not private/],
    ['100.100.100.200/32', /metadata/],
    ['10.0.0.0', /CIDR/],
    ['10.0.0.0/33', /CIDR/],
    ['fd00::1%lo/64', /CIDR/],
    ['intranet', /CIDR/],
  ])('%s is refused', (network, words) => {
    expect(openNetworkProblems([network])).toEqual([expect.stringMatching(words)]);
    expect(() => createAddressPolicy({ openNetworks: [network] })).toThrow(/cannot be opened/);
  });

  it('are at most 32, of the private ranges', () => {
    const many = Array.from({ length: mostOpenNetworks }, (_, i) => `10.${i}.0.0/16`);
    expect(openNetworkProblems(many)).toEqual([]);
    expect(openNetworkProblems([...many, '192.168.0.0/16'])).toHaveLength(1);
    expect(openNetworkProblems(['172.31.0.0/16', '100.127.0.0/24', 'fdff::/16', '192.168.0.0/16'])).toEqual(
      [],
    );
  });
});

describe('[EGR-6][IN-17] loopback and http, where the operator’s own file allows them', () => {
  it.each([
    ['http://localhost:3000/', undefined],
    ['http://app.localhost:3000/', undefined],
    ['http://LOCALHOST./', undefined],
    ['http://127.9.9.9/', undefined],
    ['http://[::1]:3000/', undefined],
    ['https://127.0.0.1/', undefined],
    ['http://10.20.3.4/', undefined],
    ['http://[fd12::1]/', undefined],
    ['http://app/', undefined],
    ['http://10.21.0.1/', 'address'],
    ['http://0.0.0.0/', 'address'],
    ['http://[::ffff:127.0.0.1]/', 'address'],
    ['http://8.8.8.8/', 'scheme'],
    ['https://8.8.8.8/', undefined],
  ])('%s: %s', (text, problem) => {
    expect(problemOf(text, inFile)).toBe(problem);
  });

  it('names of loopback need no look-up', () => {
    expect(targetOf('http://app.localhost/').addresses).toEqual(['127.0.0.1', '::1']);
    expect(targetOf('http://app/').addresses).toBeUndefined();
  });

  it('no other name leads to loopback, and http only to what is opened', () => {
    const app = targetOf('http://app/');
    expect(addressesProblem(app, ['10.20.0.1'], inFile)).toBeUndefined();
    expect(addressesProblem(app, ['127.0.0.1'], inFile)).toBe('address');
    expect(addressesProblem(app, ['10.20.0.1', '8.8.8.8'], inFile)).toBe('scheme');
    expect(addressesProblem(targetOf('https://app/'), ['10.20.0.1', '8.8.8.8'], inFile)).toBeUndefined();
  });

  it('without an opened network internal names stay blocked and http is for loopback only', () => {
    const loopbackOnly = createAddressPolicy({ allowLoopback: true, allowHttpToOpen: true });
    expect(problemOf('http://app/', loopbackOnly)).toBe('name');
    expect(problemOf('http://ip6-localhost/', loopbackOnly)).toBe('name');
    expect(problemOf('http://hook.example.com/', loopbackOnly)).toBe('scheme');
  });
});

/** In the words of the file. */
function verdictOn(text: string): string {
  const parsed = parseTarget(text);
  if ('problem' in parsed) return `REJECT-${parsed.problem.replace('_', '')}`;
  const { target } = parsed;
  const problem = hostProblem(target, strict);
  if (problem === 'name') return 'BLOCK-name';
  if (problem === undefined) return target.addresses ? 'ALLOW' : 'RESOLVE';
  return addressProblem(target.host, closed) === 'isatap' ? 'BLOCK-isatap' : 'BLOCK';
}

function problemOf(text: string, policy: typeof strict): string | undefined {
  const judged = judgeTarget(text, policy);
  return 'problem' in judged ? judged.problem : undefined;
}

function targetOf(text: string): Target {
  const parsed = parseTarget(text);
  if ('problem' in parsed) throw new Error(parsed.problem);
  return parsed.target;
}
