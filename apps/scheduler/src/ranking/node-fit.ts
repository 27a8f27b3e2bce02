import {
  capacityOf,
  DeviceIndex,
  NetworkIndex,
  usageOf,
  type AllocatedResources,
  type Allocation,
  type Amounts,
  type NetworkResource,
  type Node,
  type PortOffer,
  type TaskNetworkOffer,
  resolveTarget,
  type RequestedDevice,
} from '@waybill/model';
import { offerDevice, withDevice } from './device-assignment.js';
import { withCores, withPorts, withTaskNetwork, type GroupAsk } from './group-ask.js';
import type { NodeView } from '../plan-draft.js';

/** The resources that one more allocation of a group would get on a node. */
export interface Resourced {
  readonly wanted: Amounts;
  /** Includes the new allocation, without the evicted ones. */
  readonly used: Amounts;
  readonly capacity: Amounts;
  readonly resources: AllocatedResources;
  /** Weight of the device affinities that the assigned devices match. */
  readonly matchedDeviceWeight: number;
  /** Allocations that are evicted for its ports and devices (SC-140). */
  readonly evicted: readonly Allocation[];
  /** The exhausted dimension; empty: it fits. */
  readonly lacks: '' | 'cpu' | 'memory' | 'disk';
}

export type Fitted = Resourced | { readonly exhausted: string };

/**
 * Chooses allocations to evict so that exclusive resources become free; undefined: none may be evicted, or it would not
 * suffice.
 */
export interface Evictions {
  forPorts(
    wanted: NetworkResource,
    node: Node,
    index: NetworkIndex,
    proposed: readonly Allocation[],
  ): readonly Allocation[] | undefined;
  forDevice(
    request: RequestedDevice,
    node: Node,
    index: DeviceIndex,
    proposed: readonly Allocation[],
  ): readonly Allocation[] | undefined;
}

/**
 * Fits an allocation: ports first, then devices, then cores, then amounts, in the order of the reasons (SC-83 to
 * SC-103). Pure except for `random`, which chooses dynamic ports. Cost: O(1) if no port, device or core is requested,
 * else O(allocations on the node). Positional parameters: runs for every examined node of every placement.
 *
 * @param evictions undefined if nothing may be evicted
 */
export function fit(node: Node, ask: GroupAsk, view: NodeView, random: () => number, evictions?: Evictions): Fitted {
  let { resources } = ask;
  const claims = new Claims(view);
  if (ask.network) {
    const offer = claims.ports(resolvedHostNetworks(ask.network, node), node, random, evictions);
    if ('error' in offer) return { exhausted: `network: ${offer.error}` };
    resources = withPorts(resources, offer.ports, offer.network);
  }
  for (const { task, network } of ask.taskNetworks) {
    const offer = claims.networkOfTask(network, node, random, evictions);
    if ('error' in offer) return { exhausted: `network: ${offer.error}` };
    resources = withTaskNetwork(resources, task, offer.network);
  }
  let matchedDeviceWeight = 0;
  if (ask.devices.length > 0) {
    const devices = claims.devices(ask, resources, node, evictions);
    if ('error' in devices) return { exhausted: `devices: ${devices.error}` };
    ({ resources, matchedDeviceWeight } = devices);
  }
  const withOwnCores = ask.cores === 0 ? resources : withCores(ask, resources, node, claims.allocs);
  if (!withOwnCores) return { exhausted: 'cores' };
  if (node.NodeMaxAllocs > 0 && claims.count + 1 > node.NodeMaxAllocs) return { exhausted: 'max allocation exceeded' };
  const wanted = withOwnCores === resources ? ask.usage : usageOf(withOwnCores);
  const used = usedAfter(view.used, wanted, claims.evicted);
  const capacity = capacityOf(node);
  return {
    wanted,
    used,
    capacity,
    resources: withOwnCores,
    matchedDeviceWeight,
    evicted: claims.evicted,
    lacks: lackOf(used, capacity),
  };
}

const NOBODY: readonly Allocation[] = [];

/** The exclusive resources of a node for one more allocation: their holders are evicted, if evictions are allowed. */
class Claims {
  evicted = NOBODY;

  private left: readonly Allocation[] | undefined;
  private network: NetworkIndex | undefined;

  constructor(private readonly view: NodeView) {}

  /** Allocations on the node, without those evicted so far. */
  get allocs(): readonly Allocation[] {
    return this.left ?? this.view.allocs;
  }

  get count(): number {
    return this.view.count - this.evicted.length;
  }

  ports(wanted: NetworkResource, node: Node, random: () => number, evictions: Evictions | undefined): PortOffer {
    const index = this.networkIndex(node);
    if ('error' in index) return index;
    let offer = index.offer(wanted, random);
    if ('error' in offer && this.evictForPorts(wanted, node, index, evictions)) offer = index.offer(wanted, random);
    if (!('error' in offer)) index.addOffered(offer.ports);
    return offer;
  }

  networkOfTask(
    wanted: NetworkResource,
    node: Node,
    random: () => number,
    evictions: Evictions | undefined,
  ): TaskNetworkOffer {
    const index = this.networkIndex(node);
    if ('error' in index) return index;
    let offer = index.offerForTask(wanted, random);
    if ('error' in offer && this.evictForPorts(onDefaultNetwork(wanted), node, index, evictions))
      offer = index.offerForTask(wanted, random);
    if (!('error' in offer)) index.addOfferedNetwork(offer.network);
    return offer;
  }

  /** The ports of the node, with those that were offered before in this fit. It is made once. */
  private networkIndex(node: Node): NetworkIndex | { error: string } {
    if (this.network) return this.network;
    const index = NetworkIndex.ofNode(node);
    if (index.invalid) return { error: 'invalid node' };
    for (const alloc of this.allocs) if (index.addAllocation(alloc) !== undefined) return { error: 'port collision' };
    this.network = index;
    return index;
  }

  /** Says whether allocations were evicted for the static ports. */
  private evictForPorts(
    wanted: NetworkResource,
    node: Node,
    index: NetworkIndex,
    evictions: Evictions | undefined,
  ): boolean {
    const victims = evictions?.forPorts(wanted, node, index, this.allocs);
    if (victims) this.evict(victims, index);
    return victims !== undefined;
  }

  devices(
    ask: GroupAsk,
    given: AllocatedResources,
    node: Node,
    evictions: Evictions | undefined,
  ): { resources: AllocatedResources; matchedDeviceWeight: number } | { error: string } {
    const devices = node.NodeResources.Devices ?? [];
    const index = new DeviceIndex();
    for (const alloc of this.allocs) index.addAllocation(alloc);
    let resources = given;
    let matchedDeviceWeight = 0;
    for (const { task, request } of ask.devices) {
      let offer = offerDevice(devices, request, index);
      const victims = 'error' in offer ? evictions?.forDevice(request, node, index, this.allocs) : undefined;
      if (victims) {
        this.evict(victims, index);
        offer = offerDevice(devices, request, index);
      }
      if ('error' in offer) return offer;
      index.claimInstances(offer.device);
      resources = withDevice(resources, task, offer.device);
      matchedDeviceWeight += offer.matchedWeight;
    }
    return { resources, matchedDeviceWeight };
  }

  private evict(victims: readonly Allocation[], index: NetworkIndex | DeviceIndex): void {
    for (const victim of victims) index.removeAllocation(victim);
    this.evicted = [...this.evicted, ...victims];
    this.left = this.allocs.filter((alloc) => !victims.includes(alloc));
  }
}

function usedAfter(before: Readonly<Amounts>, wanted: Amounts, evicted: readonly Allocation[]): Amounts {
  const used = {
    cpuMhz: before.cpuMhz + wanted.cpuMhz,
    memoryMB: before.memoryMB + wanted.memoryMB,
    diskMB: before.diskMB + wanted.diskMB,
  };
  for (const { AllocatedResources } of evicted) {
    const freed = usageOf(AllocatedResources);
    used.cpuMhz -= freed.cpuMhz;
    used.memoryMB -= freed.memoryMB;
    used.diskMB -= freed.diskMB;
  }
  return used;
}

function lackOf(used: Amounts, capacity: Amounts): Resourced['lacks'] {
  if (used.cpuMhz > capacity.cpuMhz) return 'cpu';
  if (used.memoryMB > capacity.memoryMB) return 'memory';
  return used.diskMB > capacity.diskMB ? 'disk' : '';
}

/** A task's network in the form in which the holders of its ports are searched: on the default network (NW-12). */
function onDefaultNetwork(network: NetworkResource): NetworkResource {
  const ReservedPorts = network.ReservedPorts?.map((port) => ({ ...port, HostNetwork: 'default' })) ?? null;
  return { ...network, ReservedPorts };
}

/** The network with its host networks resolved; feasibility has checked that they exist (SC-66). */
function resolvedHostNetworks(network: NetworkResource, node: Node): NetworkResource {
  const resolve = (ports: NetworkResource['ReservedPorts']): NetworkResource['ReservedPorts'] =>
    ports && ports.map((port) => ({ ...port, HostNetwork: resolveTarget(port.HostNetwork, node) ?? port.HostNetwork }));
  return { ...network, ReservedPorts: resolve(network.ReservedPorts), DynamicPorts: resolve(network.DynamicPorts) };
}
