import {
  deviceGroupName,
  devicesOf,
  type Allocation,
  type DeviceIndex,
  type Node,
  type NodeDevice,
  type RequestedDevice,
} from '@waybill/model';
import { isInstanceAllowed, matchesRequest } from '../feasibility/device-match.js';
import { mayEvict, priorityOf, type Preemptor } from './preemption.js';

/** A request for devices of one node, and the allocations that hold them now. */
export interface DevicePreemptionAsk {
  readonly job: Preemptor;
  readonly request: RequestedDevice;
  readonly node: Pick<Node, 'NodeResources'>;
  readonly index: DeviceIndex;
  readonly proposed: readonly Allocation[];
}

/** The victims for one device group. */
interface Option {
  readonly victims: readonly Allocation[];
  /** Sum of the victims' distinct priorities: the cost of the option. */
  readonly cost: number;
}

interface Holder {
  readonly alloc: Allocation;
  readonly priority: number;
  /** Instances that evicting this allocation would free for the request. */
  readonly instances: number;
}

/**
 * The allocations to evict so that one device group has enough free instances; undefined: no group can have enough
 * (SC-139). Of the groups that can, it takes the one with the lowest cost. Pure. Cost: O(device groups × allocations on
 * the node).
 */
export function victimsForDevice(ask: DevicePreemptionAsk): readonly Allocation[] | undefined {
  let best: Option | undefined;
  for (const device of ask.node.NodeResources.Devices ?? []) {
    if (!matchesRequest(device, ask.request)) continue;
    const option = optionOf(device, ask);
    if (option && (!best || option.cost < best.cost)) best = option;
  }
  return best?.victims;
}

function optionOf(device: NodeDevice, { job, request, index, proposed }: DevicePreemptionAsk): Option | undefined {
  const healthy = new Set(device.Instances.filter(({ Healthy }) => Healthy).map(({ ID }) => ID));
  const isUsable = (id: string): boolean => healthy.has(id) && isInstanceAllowed(id, request);
  let missing = request.Count - index.free(device).filter(isUsable).length;
  const holders: Holder[] = [];
  for (const alloc of proposed) {
    if (!mayEvict(alloc, job)) continue;
    const instances = heldOf(device, alloc).filter(isUsable).length;
    holders.push({ alloc, priority: priorityOf(alloc), instances });
  }
  const chosen: Holder[] = [];
  const needed = missing;
  for (const holder of holders.toSorted((a, b) => a.priority - b.priority)) {
    if (missing <= 0) break;
    chosen.push(holder);
    missing -= holder.instances;
  }
  return missing <= 0 ? withoutUnneeded(chosen, needed) : undefined;
}

/**
 * Takes holders of the most instances first, until there are enough; the others stay, among them all that hold none.
 */
function withoutUnneeded(chosen: readonly Holder[], needed: number): Option {
  const kept: Holder[] = [];
  let missing = needed;
  for (const holder of chosen.toSorted((a, b) => b.instances - a.instances)) {
    if (missing <= 0) break;
    kept.push(holder);
    missing -= holder.instances;
  }
  const priorities = new Set(kept.map(({ priority }) => priority));
  return {
    victims: kept.map(({ alloc }) => alloc),
    cost: [...priorities].reduce((sum, priority) => sum + priority, 0),
  };
}

function heldOf(device: NodeDevice, alloc: Allocation): string[] {
  const name = deviceGroupName(device);
  return [...devicesOf(alloc)].flatMap((held) => (deviceGroupName(held) === name ? held.DeviceIDs : []));
}
