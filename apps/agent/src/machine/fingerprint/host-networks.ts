import { BlockList } from 'node:net';
import type { HostNetwork, NetworkResource, NodeNetwork, NodeNetworkAddress, NodeResources } from '@waybill/model';

/** MachineAddress is one address of one interface of the machine. */
export interface MachineAddress {
  readonly device: string;
  readonly mac: string;
  readonly family: 'IPv4' | 'IPv6';
  readonly address: string;
}

export interface HostNetworkOptions {
  /** The address that tasks get by default. */
  readonly usual: MachineAddress;
  /** The speed of its interface in Mbit/s. */
  readonly speedMbits: number;
  /** The host networks of the configuration. */
  readonly configured: readonly HostNetwork[];
}

/** The name of the host network of ports that name none (SC-82). */
const DEFAULT = 'default';

/**
 * Returns the networks of mode `host` in both shapes that a node has (NW-71 to NW-74): the usual address as a network,
 * and each interface with an address that has a name. An address has the names of all host networks that it fits, and
 * the usual one has the name `default` besides. The usual interface comes first, the others in the kernel's order.
 * Pure. Cost: O(addresses × host networks).
 */
export function hostNetworksOf(
  addresses: readonly MachineAddress[],
  { usual, speedMbits, configured }: HostNetworkOptions,
): Pick<NodeResources, 'NodeNetworks' | 'Networks'> {
  const all = [usual, ...addresses.filter((one) => one.device !== usual.device || one.address !== usual.address)];
  const devices = [...new Set(all.map((one) => one.device))];
  const NodeNetworks = devices.flatMap((Device): NodeNetwork[] => {
    const own = all.filter((one) => one.device === Device);
    const Addresses = own.flatMap((one) => namesOf(one, one === usual, configured));
    if (Addresses.length === 0) return [];
    return [{ Mode: 'host', Device, MacAddress: own[0]?.mac ?? '', Speed: speedMbits, Addresses }];
  });
  return { NodeNetworks, Networks: [networkOf(usual, speedMbits)] };
}

const familyOf = ({ family }: MachineAddress): 'ipv4' | 'ipv6' => (family === 'IPv6' ? 'ipv6' : 'ipv4');

/** Returns the address once for each of its names (NW-72). */
function namesOf(one: MachineAddress, isUsual: boolean, configured: readonly HostNetwork[]): NodeNetworkAddress[] {
  const fitting = configured.filter((network) => fits(one, network));
  const names = new Map(fitting.map(({ Name, ReservedPorts }) => [Name, ReservedPorts]));
  if (isUsual && !names.has(DEFAULT)) names.set(DEFAULT, '');
  return [...names].map(([Alias, ReservedPorts]) => ({
    Family: familyOf(one),
    Alias,
    Address: one.address,
    ReservedPorts,
    Gateway: '',
  }));
}

/** Says whether an address belongs to a host network of the configuration (NW-73). */
function fits(one: MachineAddress, { CIDR, Interface }: HostNetwork): boolean {
  if (Interface !== '' && Interface !== one.device) return false;
  if (CIDR === '') return true;
  const ranges = new BlockList();
  for (const text of CIDR.split(',')) {
    const [address = '', bits] = text.trim().split('/');
    ranges.addSubnet(address, Number(bits), address.includes(':') ? 'ipv6' : 'ipv4');
  }
  return ranges.check(one.address, familyOf(one));
}

const networkOf = ({ device, family, address }: MachineAddress, MBits: number): NetworkResource => ({
  Mode: 'host',
  Device: device,
  CIDR: `${address}/${family === 'IPv6' ? 128 : 32}`,
  IP: address,
  Hostname: '',
  MBits,
  DNS: null,
  ReservedPorts: [],
  DynamicPorts: [],
  CNI: null,
});
