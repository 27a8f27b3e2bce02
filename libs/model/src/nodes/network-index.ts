import type { Allocation } from '../evaluations/allocation.js';
import type { Node } from './node.js';
import type { AllocatedPort, NetworkResource, Port } from './resources.js';

/** Range of dynamic ports for a node without a range of its own (SC-85). */
export const DEFAULT_MIN_DYNAMIC_PORT = 20_000;
export const DEFAULT_MAX_DYNAMIC_PORT = 32_000;
/** Number of random tries before all ports of the range are searched (SC-85). */
export const DYNAMIC_PORT_PROBES = 20;
export const MAX_PORT = 65_535;

/** The ports offered for one network ask, or the reason why there are none. The caller adds the prefix `network: …`. */
export type PortOffer =
  | { readonly ports: AllocatedPort[]; readonly network: NetworkResource }
  | { readonly error: string };

/** The network of one task, with its address and ports filled in, or the reason why there is none. */
export type TaskNetworkOffer = { readonly network: NetworkResource } | { readonly error: string };

type NetworkedNode = Pick<Node, 'NodeResources' | 'ReservedResources'>;

interface HostAddress {
  readonly alias: string;
  readonly address: string;
}

/**
 * Tracks which ports are taken on each address of one node (SC-81 to SC-90). It is filled with the node's reserved
 * ports and its allocations, and then makes offers. Memory: one entry per port in use. Cost of an offer: O(ports
 * asked), at worst O(dynamic range).
 */
export class NetworkIndex {
  /** The reason why the node's own reservations are invalid or collide. Empty if they are valid. */
  invalid = '';
  /** By address: the ports in use, and how many hold each: allocations may share one. */
  private readonly taken = new Map<string, Map<number, number>>();
  private readonly addresses: HostAddress[] = [];
  /** Bandwidth that networks of tasks hold on each address, in Mbit/s (SC-89). */
  private readonly usedMBits = new Map<string, number>();

  private constructor(private readonly node: NetworkedNode) {}

  static ofNode(node: NetworkedNode): NetworkIndex {
    const index = new NetworkIndex(node);
    const reserved = parsePortRanges(node.ReservedResources.Networks.ReservedHostPorts);
    for (const network of node.NodeResources.NodeNetworks ?? [])
      for (const { Alias, Address, ReservedPorts } of network.Addresses ?? []) {
        index.addresses.push({ alias: Alias, address: Address });
        index.reserve(Address, parsePortRanges(ReservedPorts));
      }
    if (index.addresses.length === 0)
      for (const network of node.NodeResources.Networks ?? [])
        if (network.IP) index.addresses.push({ alias: 'default', address: network.IP });
    for (const { address } of index.addresses) index.reserve(address, reserved);
    return index;
  }

  /** Takes the ports of an allocation. @returns the first collision as `<label>=<port>`, or undefined */
  addAllocation(alloc: Pick<Allocation, 'AllocatedResources'>): string | undefined {
    let collided: string | undefined;
    for (const port of portsOf(alloc)) {
      const ports = this.portsOn(port.HostIP || this.firstAddress());
      if (ports.has(port.Value) && !port.IgnoreCollision) collided ??= `${port.Label}=${port.Value}`;
      take(ports, port.Value);
    }
    for (const network of taskNetworksOf(alloc)) this.addBandwidth(network, 1);
    return collided;
  }

  /** Frees the ports of an allocation that was added before, except those that somebody else holds as well. */
  removeAllocation(alloc: Pick<Allocation, 'AllocatedResources'>): void {
    for (const port of portsOf(alloc)) {
      const ports = this.portsOn(port.HostIP || this.firstAddress());
      const left = (ports.get(port.Value) ?? 0) - 1;
      if (left > 0) ports.set(port.Value, left);
      else ports.delete(port.Value);
    }
    for (const network of taskNetworksOf(alloc)) this.addBandwidth(network, -1);
  }

  /** Takes ports that were offered to another part of the same allocation. */
  addOffered(ports: readonly AllocatedPort[]): void {
    for (const { HostIP, Value } of ports) take(this.portsOn(HostIP), Value);
  }

  /** Takes the network that was offered to another task of the same allocation. */
  addOfferedNetwork(network: NetworkResource): void {
    this.addOffered(portsOfNetwork(network));
    this.addBandwidth(network, 1);
  }

  /** Whether this allocation holds this port on this address. */
  isHeldBy(alloc: Pick<Allocation, 'AllocatedResources'>, address: string, value: number): boolean {
    return portsOf(alloc).some((port) => port.Value === value && (port.HostIP || this.firstAddress()) === address);
  }

  /**
   * Offers ports for one network ask. They are taken once the caller adds an allocation with them.
   * @param random in [0, 1); with predictable choices, concurrent schedulers would collide
   */
  offer(ask: NetworkResource, random: () => number): PortOffer {
    const ports = this.offerPorts(ask, (port) => this.addressesOf(port), random);
    if ('error' in ports) return ports;
    return { ports, network: filledIn(ask, ports, this.firstAddress()) };
  }

  /**
   * Offers the network of one task: all its ports on one address of the machine's host networks, the first where they
   * are free and the bandwidth suffices (SC-89, NW-12). Only old jobs ask for such a network. The host networks of its
   * ports do not count.
   */
  offerForTask(ask: NetworkResource, random: () => number): TaskNetworkOffer {
    let error = 'no networks available';
    for (const { Device, IP, MBits } of this.hostNetworks()) {
      if (MBits > 0 && (this.usedMBits.get(IP) ?? 0) + ask.MBits > MBits) {
        error = 'bandwidth exceeded';
        continue;
      }
      const ports = this.offerPorts(ask, () => [{ alias: 'default', address: IP }], random);
      if (!('error' in ports)) return { network: { ...filledIn(ask, ports, IP), Device } };
      ({ error } = ports);
    }
    return { error };
  }

  private offerPorts(
    ask: NetworkResource,
    addressesOf: (port: Port) => readonly HostAddress[],
    random: () => number,
  ): AllocatedPort[] | { error: string } {
    const ports: AllocatedPort[] = [];
    const reserved = ask.ReservedPorts ?? [];
    for (const port of reserved) {
      const offered = this.offerStatic(port, addressesOf(port));
      if ('error' in offered) return offered;
      ports.push(offered);
    }
    const asked = new Set(reserved.map((port) => port.Value));
    for (const port of ask.DynamicPorts ?? []) {
      const offered = this.offerDynamic(port, addressesOf(port), asked, random);
      if ('error' in offered) return offered;
      asked.add(offered.Value);
      ports.push(offered);
    }
    return ports;
  }

  private offerStatic(port: Port, addresses: readonly HostAddress[]): AllocatedPort | { error: string } {
    if (port.Value < 0 || port.Value > MAX_PORT) return { error: `invalid port ${port.Value} (out of range)` };
    if (addresses.length === 0) return noAddress(port);
    const free = addresses.find(({ address }) => port.IgnoreCollision || !this.portsOn(address).has(port.Value));
    if (!free) return { error: `reserved port collision ${port.Label}=${port.Value}` };
    return allocated(port, port.Value, port.To, free.address);
  }

  private offerDynamic(
    port: Port,
    addresses: readonly HostAddress[],
    asked: ReadonlySet<number>,
    random: () => number,
  ): AllocatedPort | { error: string } {
    if (addresses.length === 0) return noAddress(port);
    for (const { address } of addresses) {
      const value = this.freeDynamicPort(address, asked, random);
      if (value !== undefined) return allocated(port, value, port.To === -1 ? value : port.To, address);
    }
    return { error: 'dynamic port selection failed' };
  }

  private freeDynamicPort(address: string, asked: ReadonlySet<number>, random: () => number): number | undefined {
    const min = this.node.NodeResources.MinDynamicPort || DEFAULT_MIN_DYNAMIC_PORT;
    const max = this.node.NodeResources.MaxDynamicPort || DEFAULT_MAX_DYNAMIC_PORT;
    const taken = this.portsOn(address);
    const isFree = (value: number): boolean => !taken.has(value) && !asked.has(value);
    for (let probe = 0; probe < DYNAMIC_PORT_PROBES; probe++) {
      const value = min + Math.floor(random() * (max - min + 1));
      if (isFree(value)) return value;
    }
    for (let value = min; value <= max; value++) if (isFree(value)) return value;
    return undefined;
  }

  private addressesOf(port: Port): HostAddress[] {
    const alias = port.HostNetwork || 'default';
    return this.addresses.filter((a) => a.alias === alias);
  }

  private firstAddress(): string {
    return this.hostNetworks()[0]?.IP ?? this.addresses[0]?.address ?? '';
  }

  private hostNetworks(): NetworkResource[] {
    return (this.node.NodeResources.Networks ?? []).filter((n) => (n.Mode || 'host') === 'host' && n.IP !== '');
  }

  private addBandwidth({ IP, MBits }: NetworkResource, sign: 1 | -1): void {
    if (MBits > 0) this.usedMBits.set(IP, (this.usedMBits.get(IP) ?? 0) + sign * MBits);
  }

  private portsOn(address: string): Map<number, number> {
    let ports = this.taken.get(address);
    if (!ports) this.taken.set(address, (ports = new Map()));
    return ports;
  }

  private reserve(address: string, ports: readonly number[] | undefined): void {
    if (!ports) {
      this.invalid = 'reserved ports of the node cannot be read';
      return;
    }
    const taken = this.portsOn(address);
    for (const port of ports) take(taken, port);
  }
}

const take = (ports: Map<number, number>, port: number): void => void ports.set(port, (ports.get(port) ?? 0) + 1);

/** Parses `22,80,8500-8600` into single ports. Returns undefined for an invalid text. */
export function parsePortRanges(text: string): number[] | undefined {
  const ports: number[] = [];
  for (const part of text.split(',')) {
    if (part.trim() === '') continue;
    const match = /^\s*(\d{1,5})\s*(?:-\s*(\d{1,5})\s*)?$/.exec(part);
    if (!match) return undefined;
    const from = Number(match[1]);
    const to = Number(match[2] ?? match[1]);
    if (to < from || to > MAX_PORT) return undefined;
    for (let port = from; port <= to; port++) ports.push(port);
  }
  return ports;
}

/** Whether an allocation holds ports, which can collide with those of another one. */
export function holdsPorts({ AllocatedResources: { Shared, Tasks } }: Pick<Allocation, 'AllocatedResources'>): boolean {
  if (Shared.Ports?.length || Shared.Networks?.length) return true;
  for (const name of Object.keys(Tasks)) if (Tasks[name]?.Networks?.length) return true;
  return false;
}

function portsOf(alloc: Pick<Allocation, 'AllocatedResources'>): AllocatedPort[] {
  const { Shared } = alloc.AllocatedResources;
  const ports = [...(Shared.Ports ?? [])];
  if (ports.length === 0)
    for (const network of Shared.Networks ?? []) for (const item of portsOfNetwork(network)) ports.push(item);
  for (const network of taskNetworksOf(alloc)) for (const item of portsOfNetwork(network)) ports.push(item);
  return ports;
}

/** Returns the networks of single tasks, which only old jobs have (SC-89). */
const taskNetworksOf = ({ AllocatedResources: { Tasks } }: Pick<Allocation, 'AllocatedResources'>): NetworkResource[] =>
  Object.values(Tasks).flatMap(({ Networks }) => Networks ?? []);

/** Returns the ask with the values of its ports filled in, in the form that the allocation stores (SC-88). */
function filledIn(ask: NetworkResource, ports: readonly AllocatedPort[], IP: string): NetworkResource {
  const valueOf = (port: Port): Port => {
    const given = ports.find((p) => p.Label === port.Label);
    return given ? { ...port, Value: given.Value, To: given.To } : port;
  };
  return {
    ...ask,
    IP,
    ReservedPorts: ask.ReservedPorts?.map(valueOf) ?? null,
    DynamicPorts: ask.DynamicPorts?.map(valueOf) ?? null,
  };
}

/** Returns the ports of a network on its address, in the form that an allocation stores. */
export function portsOfNetwork(network: NetworkResource): AllocatedPort[] {
  return [...(network.ReservedPorts ?? []), ...(network.DynamicPorts ?? [])].map((port) =>
    allocated(port, port.Value, port.To, network.IP),
  );
}

function allocated(port: Port, value: number, to: number, hostIP: string): AllocatedPort {
  return { Label: port.Label, Value: value, To: to, HostIP: hostIP, IgnoreCollision: port.IgnoreCollision };
}

const noAddress = (port: Port): { error: string } => ({
  error: `no addresses available for ${port.HostNetwork || 'default'} network`,
});
