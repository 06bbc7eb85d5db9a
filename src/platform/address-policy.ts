import { isIP } from 'node:net';
import {
  addressProblem,
  createRangeTest,
  isLoopback,
  mostOpenNetworks,
  openableNetworks,
  openNetworkProblems,
} from './address-ranges.ts';

export { mostOpenNetworks, openableNetworks, openNetworkProblems };

/** Why a URL is not connected to. Configuration shows the sentence; whoever sends is told only that it was blocked. */
export const targetProblemTexts = {
  raw: 'holds a space, a control character or a backslash, or more than 2,048 characters',
  parse: 'is no URL',
  scheme: 'must be https here',
  user_info: 'holds a user name or password; use a header or the signature instead',
  fragment: 'holds a fragment (#), which would never be sent',
  port: 'names a port that is never used for webhooks',
  name: 'names a host of an internal network, or no valid host name',
  address: 'leads to an address that is not public',
} as const;
export type TargetProblem = keyof typeof targetProblemTexts;

/** A URL that was parsed once; only this is used from then on, never the text. */
export type Target = {
  readonly url: URL;
  /** The name without its trailing dot, or the address without brackets. */
  readonly host: string;
  /** What needs no look-up: the address itself, or loopback for its names (RFC 6761, 6.3). Absent: to be resolved. */
  readonly addresses?: readonly string[];
};

/** Where one kind of outgoing request may go. Made by `createAddressPolicy`. */
export type AddressPolicy = {
  readonly allowsLoopback: boolean;
  readonly allowsHttpToOpen: boolean;
  readonly hasOpen: boolean;
  isOpen(address: string): boolean;
};

/**
 * Without options: public addresses by https only. `openNetworks` are private networks in CIDR notation that the
 * operator opened, by https, or by http too with `allowHttpToOpen`. `allowLoopback` admits `localhost`, `*.localhost`
 * and loopback addresses, by http too, where they are named so: never because some name resolves to them.
 * The two exceptions are only for targets that the operator's own files name. Throws where a network cannot be opened.
 */
export function createAddressPolicy(
  options: { openNetworks?: readonly string[]; allowHttpToOpen?: boolean; allowLoopback?: boolean } = {},
): AddressPolicy {
  const { openNetworks = [], allowHttpToOpen = false, allowLoopback = false } = options;
  const problems = openNetworkProblems(openNetworks);
  if (problems.length > 0) throw new Error(`these networks cannot be opened: ${problems.join('; ')}`);
  return {
    allowsLoopback: allowLoopback,
    allowsHttpToOpen: allowHttpToOpen,
    hasOpen: openNetworks.length > 0,
    isOpen: createRangeTest(openNetworks),
  };
}

/**
 * Judges a URL before anything is resolved. The same call serves configuration, a test delivery and each sending.
 * A target without `addresses` is resolved next, and what is found goes to `addressesProblem`.
 */
export function judgeTarget(
  text: string,
  policy: AddressPolicy,
): { target: Target } | { problem: TargetProblem } {
  const parsed = parseTarget(text);
  if ('problem' in parsed) return parsed;
  const { target } = parsed;
  const problem = hostProblem(target, policy) ?? schemeProblem(target, target.addresses, policy);
  return problem === undefined ? parsed : { problem };
}

/** Judges what a target's name resolved to: one forbidden record refuses all, as a mixed answer must not choose. */
export function addressesProblem(
  target: Target,
  addresses: readonly string[],
  policy: AddressPolicy,
): TargetProblem | undefined {
  return hasForbidden(target, addresses, policy) ? 'address' : schemeProblem(target, addresses, policy);
}

/** Parses with the WHATWG URL parser, which turns every spelling of an address into one; http and https pass here. */
export function parseTarget(text: string): { target: Target } | { problem: TargetProblem } {
  if (text.length > mostUrlCharacters || /[\s\\\p{Cc}]/u.test(text)) return { problem: 'raw' };
  if (!URL.canParse(text)) return { problem: 'parse' };
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return { problem: 'scheme' };
  if (url.username !== '' || url.password !== '') return { problem: 'user_info' };
  if (text.includes('#')) return { problem: 'fragment' };
  if (badPorts.has(Number(url.port || Number.NaN))) return { problem: 'port' };
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  if (isIP(host) !== 0) return { target: { url, host, addresses: [host] } };
  return { target: isLoopbackName(host) ? { url, host, addresses: loopbackAddresses } : { url, host } };
}

/** Judges the host alone: by its name, or by the address that it is. */
export function hostProblem(target: Target, policy: AddressPolicy): TargetProblem | undefined {
  const { host, addresses } = target;
  if (isIP(host) === 0 && !isAllowedName(host, policy)) return 'name';
  return addresses !== undefined && hasForbidden(target, addresses, policy) ? 'address' : undefined;
}

/** Loopback passes only where the URL itself names it, so that no record of a name can lead there. */
function hasForbidden(target: Target, addresses: readonly string[], policy: AddressPolicy): boolean {
  const mayBeLoopback = policy.allowsLoopback && (target.addresses?.every(isLoopback) ?? false);
  return addresses.some(
    (address) =>
      !(mayBeLoopback && isLoopback(address)) && addressProblem(address, policy.isOpen) !== undefined,
  );
}

/** Plain http is for loopback and opened networks, where the policy has them; a name may still lead there. */
function schemeProblem(
  { url }: Target,
  addresses: readonly string[] | undefined,
  policy: AddressPolicy,
): TargetProblem | undefined {
  if (url.protocol === 'https:') return undefined;
  const isAllowed =
    addresses?.every(
      (address) =>
        (policy.allowsLoopback && isLoopback(address)) || (policy.allowsHttpToOpen && policy.isOpen(address)),
    ) ??
    (policy.allowsHttpToOpen && policy.hasOpen);
  return isAllowed ? undefined : 'scheme';
}

function isAllowedName(name: string, policy: AddressPolicy): boolean {
  if (isLoopbackName(name)) return policy.allowsLoopback;
  if (name.length > 253 || !name.split('.').every((label) => /^[a-z0-9_-]{1,63}$/.test(label))) return false;
  if (metadataNames.some((metadata) => name === metadata || name.endsWith(`.${metadata}`))) return false;
  return policy.hasOpen || !(isSingleLabel(name) || /\.(local|internal|lan|home\.arpa)$/.test(name));
}

function isLoopbackName(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost');
}

function isSingleLabel(name: string): boolean {
  return !name.includes('.');
}

const mostUrlCharacters = 2_048;
const loopbackAddresses = ['127.0.0.1', '::1'];

/** Names of clouds' metadata services that would otherwise pass once a network is opened. */
const metadataNames = [
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'metadata.azure.internal',
  'instance-data',
  'instance-data.ec2.internal',
];

/** Fetch Standard, "port blocking": ports of other protocols that an HTTP request could be mistaken for; and 0. */
const badPorts = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
  109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
  526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049,
  3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);
