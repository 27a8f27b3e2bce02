import type { Allocation, NetworkIndex, NetworkResource, Node, NodeNetwork, Port } from '@waybill/model';
import { mayEvict, type Preemptor } from './preemption.js';

/** Static ports that are wanted on a node, and who holds ports there now. */
export interface PortPreemptionAsk {
  readonly job: Preemptor;
  /** Its host networks are resolved (SC-66). */
  readonly wanted: NetworkResource;
  readonly node: Node;
  /** Filled with `proposed`; as before when this returns. */
  readonly index: NetworkIndex;
  readonly proposed: readonly Allocation[];
}

/**
 * SC-138: whom to evict so that the static ports are free; undefined: somebody holds one who may not be evicted. All of them
 * are on one network device of the node. Pure. Cost: O(ports × allocations on the node).
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
    evicted.push(...holders);
    if (!isFree(port, ask)) return { evicted, suffice: false };
  }
  return { evicted, suffice: evicted.length > 0 };
}

/** Of the first address of the port's host network on this device where all who hold it may be evicted. */
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

/** An offer of static ports alone leaves nothing to chance. */
function isFree(port: Port, { wanted, index }: PortPreemptionAsk): boolean {
  return !('error' in index.offer({ ...wanted, ReservedPorts: [port], DynamicPorts: null }, () => 0));
}
