import type { Allocation, NetworkIndex, NetworkResource, Node, NodeNetwork, Port } from '@waybill/model';
import { mayEvict, type Preemptor } from './preemption.js';

/** Static ports that are requested on a node, and the allocations that hold ports there now. */
export interface PortPreemptionAsk {
  readonly job: Preemptor;
  /** With its host networks resolved (SC-66). */
  readonly wanted: NetworkResource;
  readonly node: Node;
  /** Contains the ports of `proposed`; unchanged when the function returns. */
  readonly index: NetworkIndex;
  readonly proposed: readonly Allocation[];
}

/**
 * The allocations to evict so that the static ports are free; undefined: one of the holders may not be evicted
 * (SC-138). All ports are on one network device of the node. Pure. Cost: O(ports × allocations on the node).
 */
export function victimsForPorts(ask: PortPreemptionAsk): readonly Allocation[] | undefined {
  for (const device of ask.node.NodeResources.NodeNetworks ?? []) {
    const victims = victimsOn(device, ask);
    for (const alloc of victims.evicted) ask.index.addAllocation(alloc);
    if (victims.suffice) return victims.evicted;
  }
  return undefined;
}

function victimsOn(device: NodeNetwork, ask: PortPreemptionAsk): { evicted: Allocation[]; suffice: boolean } {
  const evicted: Allocation[] = [];
  for (const port of ask.wanted.ReservedPorts ?? []) {
    if (isFree(port, ask)) continue;
    const holders = holdersOf(port, device, ask);
    for (const alloc of holders) ask.index.removeAllocation(alloc);
    for (const item of holders) evicted.push(item);
    if (!isFree(port, ask)) return { evicted, suffice: false };
  }
  return { evicted, suffice: evicted.length > 0 };
}

/** The port's holders on the first address of its host network on this device where all of them may be evicted. */
function holdersOf(
  port: Port,
  device: NodeNetwork,
  { job, index, proposed }: PortPreemptionAsk,
): readonly Allocation[] {
  for (const { Alias, Address } of device.Addresses ?? []) {
    if (Alias !== (port.HostNetwork || 'default')) continue;
    const holders = proposed.filter((alloc) => index.isHeldBy(alloc, Address, port.Value));
    if (holders.length > 0 && holders.every((alloc) => mayEvict(alloc, job))) return holders;
  }
  return [];
}

/** Whether the port is free. An offer of static ports alone is deterministic. */
function isFree(port: Port, { wanted, index }: PortPreemptionAsk): boolean {
  return !('error' in index.offer({ ...wanted, ReservedPorts: [port], DynamicPorts: null }, () => 0));
}
