import { BlockList, isIP } from 'node:net';
import { isNetwork } from './client-address.ts';

/** Why an address may not be connected to. `unreadable`: no address, or one with a zone id. */
export const addressProblems = ['unreadable', 'metadata', 'special', 'isatap'] as const;
export type AddressProblem = (typeof addressProblems)[number];

/**
 * What is wrong with connecting to an IP address in text form, or undefined where nothing is. `isOpen` says which
 * private addresses the operator opened. It cannot open what carries an IPv4 address inside an IPv6 one, or metadata.
 */
export function addressProblem(
  address: string,
  isOpen: (address: string) => boolean,
): AddressProblem | undefined {
  const family = isIP(address);
  if (family === 0 || address.includes('%')) return 'unreadable';
  if (metadataAddresses.has(family === 6 ? canonicalIpv6(address) : address)) return 'metadata';
  const isPublic = family === 4 ? !special4(address) : global6(address) && !special6(address);
  if (!isPublic && !isOpen(address)) return 'special';
  return family === 6 && isIsatap(address) ? 'isatap' : undefined;
}

/** 127.0.0.0/8 and ::1; no other way of writing them, such as ::ffff:127.0.0.1. */
export function isLoopback(address: string): boolean {
  return !address.includes('%') && loopback(address);
}

/** What is wrong with a list of networks that the operator wants opened, one sentence each; empty if nothing is. */
export function openNetworkProblems(networks: readonly string[]): string[] {
  const problems = networks.flatMap((network) => openNetworkProblem(network) ?? []);
  if (networks.length > mostOpenNetworks)
    problems.unshift(`${networks.length} networks are listed; at most ${mostOpenNetworks} can be opened`);
  return problems;
}

/**
 * A test for addresses of one family or the other. Node compares IPv4 with the IPv4 inside ::ffff:0:0/96 and calls
 * what it cannot parse, or is given the wrong family for, not contained: so each family has a list of its own and the
 * family is always passed.
 */
export function createRangeTest(networks: readonly string[]): (address: string) => boolean {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    const family = familyOf(address);
    lists[family].addSubnet(address, Number(bits), family);
  }
  return (address) => isIP(address) !== 0 && lists[familyOf(address)].check(address, familyOf(address));
}

export const mostOpenNetworks = 32;

/** What an operator may open: RFC 1918, RFC 6598 (shared address space), RFC 4193 (unique local addresses). */
export const openableNetworks = [
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  'fc00::/7',
];
const neverOpened = ['127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '::1/128', 'fe80::/10', 'ff00::/8'];

/**
 * Metadata services of clouds that live in ranges which can be opened: they hand out credentials to whoever asks.
 * Alibaba Cloud; Amazon EC2 and EKS Pod Identity over IPv6; Google Cloud over IPv6. The others are link-local.
 */
const metadataAddresses = new Set(['100.100.100.200', 'fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254']);

const loopback = createRangeTest(['127.0.0.0/8', '::1/128']);

/**
 * The IANA IPv4 special-purpose registry (RFC 6890 and its updates), whatever its column "globally reachable" says,
 * with multicast, class E and Azure's platform address 168.63.129.16.
 */
const special4 = createRangeTest([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]);

/**
 * IPv6 is an allow-list: what IANA allots as global unicast, without its special parts. So every range that is allotted
 * later, and every form that carries an IPv4 address, is refused without being named here.
 */
const global6 = createRangeTest(['2000::/3']);
const special6 = createRangeTest([
  '2001::/23', // protocol assignments, with Teredo, benchmarking and ORCHID
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4: an IPv4 address follows
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
]);

/** RFC 5214, 6.1: an interface id of 0000:5efe or 0200:5efe is followed by the IPv4 address that is tunnelled to. */
function isIsatap(address: string): boolean {
  const [upper, lower] = ipv6Groups(address).slice(4, 6);
  return lower === '5efe' && (upper === '0' || upper === '200');
}

/** The eight groups of an IPv6 address, lower case, without leading zeros. */
function ipv6Groups(address: string): string[] {
  const [head = '', tail] = canonicalIpv6(address).split('::');
  const before = head.split(':').filter(Boolean);
  const after = (tail ?? '').split(':').filter(Boolean);
  return [...before, ...Array(8 - before.length - after.length).fill('0'), ...after];
}

/** RFC 5952, by the URL parser: it also turns a dotted end into two groups. */
function canonicalIpv6(address: string): string {
  return new URL(`http://[${address}]/`).hostname.slice(1, -1);
}

function openNetworkProblem(network: string): string | undefined {
  const [address = ''] = network.split('/');
  if (!isNetwork(network) || address.includes('%'))
    return `${JSON.stringify(network)} is no network in CIDR notation, such as 10.20.0.0/16`;
  if (metadataAddresses.has(address))
    return `${network} is the metadata service of a cloud and stays blocked`;
  if (openableNetworks.some((range) => contains(range, network))) return undefined;
  const covers = neverOpened.some((range) => contains(network, range) || contains(range, network));
  return covers
    ? `${network} covers loopback, link-local or multicast addresses, which cannot be opened`
    : `${network} is not private: only networks inside ${openableNetworks.join(', ')} can be opened`;
}

/** Whether the network `inner` lies wholly inside `outer`. */
function contains(outer: string, inner: string): boolean {
  const [address = '', bits] = inner.split('/');
  return Number(bits) >= Number(outer.split('/')[1]) && createRangeTest([outer])(address);
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}
