import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv6 } from 'node:net';

/** How many proxies stand in front, or the networks they are in; 0 = none, the peer is the client. */
export type TrustProxy = number | readonly string[];

/**
 * Who sent a request. Behind proxies X-Forwarded-For is read from its right end: as many entries as there are
 * trusted hops, or until the first address that is no trusted proxy. Everything further left is the sender's own
 * claim. Null where the address cannot be known.
 */
export function createClientAddress(trustProxy: TrustProxy): (request: IncomingMessage) => string | null {
  const isTrusted = trustedHops(trustProxy);
  return (request) => {
    const peer = plainAddress(request.socket.remoteAddress);
    if (trustProxy === 0 || peer === null) return peer;
    const chain = [peer, ...forwarded(request).reverse()];
    for (let hop = 0; hop < chain.length; hop++) {
      const address = chain[hop] as string;
      if (isIP(address) === 0) return null;
      if (!isTrusted(address, hop) || hop === chain.length - 1) return address;
    }
    return null;
  };
}

/** IPv4 in the IPv6 form that a dual-stack socket shows is still IPv4. */
export function plainAddress(address: string | undefined): string | null {
  if (address === undefined || !address.includes(':')) return address ?? null;
  return /^::ffff:\d+\.\d+\.\d+\.\d+$/i.test(address)
    ? address.slice('::ffff:'.length)
    : (address.split('%')[0] ?? null);
}

function forwarded(request: IncomingMessage): string[] {
  const header = request.headers['x-forwarded-for'];
  if (header === undefined) return [];
  const entries = (Array.isArray(header) ? header.join(',') : header).split(',');
  return entries.map((entry) => plainAddress(withoutPort(entry.trim())) ?? '').slice(-20);
}

/** Some proxies write the port too: `198.51.100.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  return /^\[(.*)\](?::\d+)?$/.exec(entry)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(entry)?.[1] ?? entry;
}

function trustedHops(trustProxy: TrustProxy): (address: string, hop: number) => boolean {
  if (typeof trustProxy === 'number') return (_address, hop) => hop < trustProxy;
  return createNetworkList(trustProxy);
}

/** Whether a text is a network in CIDR notation, such as 10.0.0.0/8 or 2001:db8::/32. */
export function isNetwork(text: string): boolean {
  const [address = '', bits = '', ...rest] = text.split('/');
  const version = isIP(address);
  return (
    version !== 0 && rest.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (version === 6 ? 128 : 32)
  );
}

/** A test for addresses that lie in one of these networks. */
export function createNetworkList(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    list.addSubnet(address, Number(bits), isIPv6(address) ? 'ipv6' : 'ipv4');
  }
  return (address) => list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}
