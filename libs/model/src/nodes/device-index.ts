import type { Allocation } from '../evaluations/allocation.js';
import type { NodeDevice } from './node.js';
import type { AllocatedDevice } from './resources.js';

/** A group of equal devices of one node. */
type DeviceGroup = Pick<NodeDevice, 'Vendor' | 'Type' | 'Name'>;

/** Returns the name `vendor/type/name`. */
export const deviceGroupName = ({ Vendor, Type, Name }: DeviceGroup): string => `${Vendor}/${Type}/${Name}`;

/**
 * Counts which device instances of one node are held by allocations. It is filled with the node's allocations and then
 * returns the free instances. Memory: one entry per held instance. Cost: O(devices of the allocation) to add or remove.
 */
export class DeviceIndex {
  /** Device group → number of holders of each of its instances. */
  private readonly held = new Map<string, Map<string, number>>();

  /** @returns whether the allocation is the only holder of all its instances */
  addAllocation(alloc: Pick<Allocation, 'AllocatedResources'>): boolean {
    let exclusive = true;
    for (const device of devicesOf(alloc)) if (!this.claimInstances(device)) exclusive = false;
    return exclusive;
  }

  /** Frees the devices of an allocation that has to stop. */
  removeAllocation(alloc: Pick<Allocation, 'AllocatedResources'>): void {
    for (const device of devicesOf(alloc)) {
      const instances = this.held.get(deviceGroupName(device));
      for (const id of device.DeviceIDs) instances?.set(id, (instances.get(id) ?? 0) - 1);
    }
  }

  /** @returns whether the instances had no holder before */
  claimInstances(device: AllocatedDevice): boolean {
    const name = deviceGroupName(device);
    let instances = this.held.get(name);
    if (!instances) this.held.set(name, (instances = new Map()));
    let exclusive = true;
    for (const id of device.DeviceIDs) {
      const holders = instances.get(id) ?? 0;
      if (holders > 0) exclusive = false;
      instances.set(id, holders + 1);
    }
    return exclusive;
  }

  /** Returns the IDs of healthy instances without a holder, in the node's order (SC-96). */
  free(device: NodeDevice): string[] {
    const instances = this.held.get(deviceGroupName(device));
    return device.Instances.filter(({ ID, Healthy }) => Healthy && (instances?.get(ID) ?? 0) <= 0).map(({ ID }) => ID);
  }
}

/** Yields the devices that the tasks of an allocation hold. */
export function* devicesOf({
  AllocatedResources: { Tasks },
}: Pick<Allocation, 'AllocatedResources'>): Iterable<AllocatedDevice> {
  for (const name of Object.keys(Tasks)) yield* Tasks[name]?.Devices ?? [];
}

/** Whether the allocation holds a device, which no other allocation can hold as well. */
export function holdsDevices({ AllocatedResources: { Tasks } }: Pick<Allocation, 'AllocatedResources'>): boolean {
  for (const name of Object.keys(Tasks)) if (Tasks[name]?.Devices?.length) return true;
  return false;
}
