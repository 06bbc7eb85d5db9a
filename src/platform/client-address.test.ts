import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { createClientAddress, isNetwork, plainAddress, type TrustProxy } from './client-address.ts';

/** Who a request of `peer` with this X-Forwarded-For comes from. */
function clientOf(trustProxy: TrustProxy, peer: string | undefined, forwarded?: string | string[]) {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
  const request = { socket: { remoteAddress: peer }, headers } as unknown as IncomingMessage;
  return createClientAddress(trustProxy)(request);
}

describe('without a proxy', () => {
  it('the peer is the client, and X-Forwarded-For is only a claim', () => {
    expect(clientOf(0, '203.0.113.9')).toBe('203.0.113.9');
    expect(clientOf(0, '203.0.113.9', '198.51.100.1')).toBe('203.0.113.9');
    expect(clientOf(0, '2001:db8::9', '198.51.100.1')).toBe('2001:db8::9');
  });

  it('IPv4 that a dual-stack socket shows as IPv6 is IPv4, and a zone is left out', () => {
    expect(clientOf(0, '::ffff:203.0.113.9')).toBe('203.0.113.9');
    expect(clientOf(0, 'fe80::1%eth0')).toBe('fe80::1');
  });

  it('a socket that is gone has no address', () => {
    expect(clientOf(0, undefined, '198.51.100.1')).toBeNull();
    expect(clientOf(1, undefined, '198.51.100.1')).toBeNull();
  });
});

describe('behind a number of proxies', () => {
  it('as many entries as there are hops are taken from the right end', () => {
    expect(clientOf(1, '10.0.0.1', '198.51.100.1')).toBe('198.51.100.1');
    expect(clientOf(2, '10.0.0.1', '198.51.100.1, 10.0.0.2')).toBe('198.51.100.1');
    expect(clientOf(3, '10.0.0.1', '198.51.100.1,10.0.0.3 ,10.0.0.2')).toBe('198.51.100.1');
  });

  it('what the sender wrote further left is never believed', () => {
    expect(clientOf(1, '10.0.0.1', '127.0.0.1, 198.51.100.1')).toBe('198.51.100.1');
    expect(clientOf(1, '10.0.0.1', '127.0.0.1, 127.0.0.1, 198.51.100.1')).toBe('198.51.100.1');
    expect(clientOf(2, '10.0.0.1', '127.0.0.1, 198.51.100.1, 10.0.0.2')).toBe('198.51.100.1');
    expect(clientOf(1, '10.0.0.1', `${'127.0.0.1,'.repeat(5000)}198.51.100.1`)).toBe('198.51.100.1');
    expect(clientOf(1, '10.0.0.1', 'garbage, <script>, 198.51.100.1')).toBe('198.51.100.1');
  });

  it('a shorter chain gives its last known address', () => {
    expect(clientOf(1, '203.0.113.9')).toBe('203.0.113.9');
    expect(clientOf(3, '10.0.0.1', '198.51.100.1')).toBe('198.51.100.1');
  });

  it('repeated headers are one chain', () => {
    expect(clientOf(2, '10.0.0.1', ['127.0.0.1, 198.51.100.1', '10.0.0.2'])).toBe('198.51.100.1');
  });

  it('an entry that is no address makes the client unknown rather than somebody else', () => {
    for (const entry of [
      '',
      'unknown',
      '_hidden',
      '1.2.3',
      '1.2.3.4.5',
      '999.1.1.1',
      '::ffff:999.1.1.1',
      '0x7f.1',
      'a b',
      '198.51.100.1\0',
    ])
      expect(clientOf(1, '10.0.0.1', `198.51.100.7, ${entry}`), entry).toBeNull();
  });

  it('IPv4 in IPv6 form is IPv4 in the header too', () => {
    expect(clientOf(1, '::ffff:10.0.0.1', '::FFFF:198.51.100.1')).toBe('198.51.100.1');
    expect(clientOf(1, '::1', '2001:db8::7')).toBe('2001:db8::7');
  });
});

describe('behind proxies of known networks', () => {
  const networks = ['10.0.0.0/8', '192.0.2.7/32', 'fd00::/8'];

  it('the first address from the right that is no proxy is the client', () => {
    expect(clientOf(networks, '10.0.0.1', '198.51.100.1')).toBe('198.51.100.1');
    expect(clientOf(networks, '10.0.0.1', '198.51.100.1, 192.0.2.7, 10.255.255.255')).toBe('198.51.100.1');
    expect(clientOf(networks, 'fd00::1', '198.51.100.1, fdff::1')).toBe('198.51.100.1');
    expect(clientOf(networks, '::ffff:10.0.0.1', '198.51.100.1')).toBe('198.51.100.1');
    expect(clientOf(networks, '10.0.0.1', '198.51.100.1, ::ffff:10.0.0.2')).toBe('198.51.100.1');
  });

  it('a forged X-Forwarded-For changes nothing', () => {
    expect(clientOf(networks, '203.0.113.9', '10.0.0.5')).toBe('203.0.113.9');
    expect(clientOf(networks, '203.0.113.9', '198.51.100.1, 10.0.0.5')).toBe('203.0.113.9');
    expect(clientOf(networks, '10.0.0.1', '10.0.0.9, 127.0.0.1, 198.51.100.1')).toBe('198.51.100.1');
    expect(clientOf(networks, '192.0.2.8', '198.51.100.1')).toBe('192.0.2.8');
    expect(clientOf(networks, 'fe00::1', '198.51.100.1')).toBe('fe00::1');
  });

  it('garbage where the client should stand makes it unknown', () => {
    expect(clientOf(networks, '10.0.0.1', 'unknown')).toBeNull();
    expect(clientOf(networks, '10.0.0.1', '198.51.100.1, unknown, 10.0.0.2')).toBeNull();
    expect(clientOf(networks, '10.0.0.1', 'unknown, 198.51.100.1')).toBe('198.51.100.1');
  });

  it('a chain of proxies alone ends at its left end', () => {
    expect(clientOf(networks, '10.0.0.1')).toBe('10.0.0.1');
    expect(clientOf(networks, '10.0.0.1', '10.0.0.3, 10.0.0.2')).toBe('10.0.0.3');
    expect(clientOf([], '10.0.0.1', '198.51.100.1')).toBe('10.0.0.1');
  });
});

it('a plain address is without the IPv6 form of IPv4 and without a zone', () => {
  expect(plainAddress('::ffff:1.2.3.4')).toBe('1.2.3.4');
  expect(plainAddress('1.2.3.4')).toBe('1.2.3.4');
  expect(plainAddress('2001:db8::1%2')).toBe('2001:db8::1');
  expect(plainAddress('::1')).toBe('::1');
  expect(plainAddress(undefined)).toBeNull();
});

it('an entry with a port is the address without it', () => {
  expect(clientOf(1, '10.0.0.1', '198.51.100.1:4711')).toBe('198.51.100.1');
  expect(clientOf(1, '10.0.0.1', '[2001:db8::1]:4711')).toBe('2001:db8::1');
});

it('networks are judged with their bits', () => {
  for (const good of ['10.0.0.0/8', '0.0.0.0/0', '2001:db8::/32', '::1/128'])
    expect(isNetwork(good), good).toBe(true);
  for (const bad of [
    '10.0.0.0',
    '10.0.0.0/33',
    '300.0.0.0/8',
    '::/129',
    '10.0.0.0/8/8',
    'x/8',
    '/8',
    '10.0.0.0/',
  ])
    expect(isNetwork(bad), bad).toBe(false);
});
