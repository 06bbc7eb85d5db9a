import { BlockList, isIPv6 } from 'node:net';
import { bad, type Check, missing, type SchemeOptions } from './check.ts';

/**
 * The family `ip`: the sender is known by the networks that it publishes. Nothing is signed, and it is worth as much as
 * the network between; whoever gets such an event re-reads the object at the sender.
 */
export type IpCheck = { readonly family: 'ip'; readonly networks: readonly string[] };

export function ipCheck({ networks }: IpCheck, options: SchemeOptions): Check {
  const isInside = networkList(options.networks ?? networks);
  return {
    needsSecret: false,
    readsBody: false,
    secretHeaders: [],
    hasTimestamp: false,
    signsId: false,
    secretProblem: () => undefined,
    keyOf: () => undefined,
    judge: (_envelope, _keys, { clientIp }) => {
      if (clientIp === undefined || clientIp === null) return missing;
      return isInside(clientIp) ? { ok: true, secretIndex: 0 } : bad;
    },
    sign: (draft) => draft,
  };
}

function networkList(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return (address) => list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}
