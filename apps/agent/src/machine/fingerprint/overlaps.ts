import { BlockList } from 'node:net';
import os from 'node:os';

/** MachineNetwork is a network that an interface of the machine reaches. */
export interface MachineNetwork {
  readonly device: string;
  /** In CIDR notation; the address may be any one of the network. */
  readonly cidr: string;
}

/**
 * Returns the first of the machine's networks that has addresses in common with a subnet (NW-78). Default routes and
 * the networks of the bridge itself do not count. Pure.
 */
export function overlapOf(
  subnet: string,
  bridge: string,
  networks: readonly MachineNetwork[],
): MachineNetwork | undefined {
  return networks.find(
    ({ device, cidr }) =>
      device !== bridge && !cidr.endsWith('/0') && (contains(subnet, cidr) || contains(cidr, subnet)),
  );
}

/** Says whether the address of `inner` is in `outer`. Two networks overlap if one has the address of the other. */
function contains(outer: string, inner: string): boolean {
  const [address = '', bits] = outer.split('/');
  const [other = ''] = inner.split('/');
  const range = new BlockList();
  range.addSubnet(address, Number(bits), familyOf(address));
  return range.check(other, familyOf(other));
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (address.includes(':') ? 'ipv6' : 'ipv4');

/**
 * Returns the networks of a table of IPv4 routes. The kernel writes addresses as numbers in the byte order of the
 * machine.
 * @param table the content of /proc/net/route
 */
export function networksIn(table: string, endianness = os.endianness()): MachineNetwork[] {
  return table
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [device, destination, , , , , , mask] = line.split('\t');
      if (!device || !destination || !mask) return [];
      const bits = Number.parseInt(mask, 16).toString(2).replaceAll('0', '').length;
      return [{ device, cidr: `${[...bytesOf(destination, endianness)].join('.')}/${bits}` }];
    });
}

function bytesOf(hex: string, endianness: 'LE' | 'BE'): Buffer {
  const bytes = Buffer.from(hex, 'hex');
  return endianness === 'LE' ? bytes.reverse() : bytes;
}
