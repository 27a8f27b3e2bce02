import type { Allocation } from '../evaluations/allocation.js';
import type { NodeDevice } from './node.js';
import type { AllocatedDevice } from './resources.js';

/** A group of devices of one node: all its instances are alike. */
type DeviceGroup = Pick<NodeDevice, 'Vendor' | 'Type' | 'Name'>;

/** `vendor/type/name`, as people write it. */
export const deviceGroupName = ({ Vendor, Type, Name }: DeviceGroup): string => `${Vendor}/${Type}/${Name}`;

/**
 * Which device instances of one node are held by allocations. Filled with the node's allocations, then asked what is free.
 * Memory: one entry per instance in use. Cost: O(devices of the allocation) to add or remove.
 */
export class DeviceIndex {
  /** Device group → how often each of its instances is held. */
  private readonly held = new Map<string, Map<string, number>>();

  /** @returns whether nobody else holds any of its instances */
  addAllocation(alloc: Pick<Allocation, 'AllocatedResources'>): boolean {
    let exclusive = true;
    for (const device of devicesOf(alloc)) if (!this.claimInstances(device)) exclusive = false;
    return exclusive;
  }

  /** Frees what an allocation holds that has to go. */
  removeAllocation(alloc: Pick<Allocation, 'AllocatedResources'>): void {
    for (const device of devicesOf(alloc)) {
      const instances = this.held.get(deviceGroupName(device));
      for (const id of device.DeviceIDs) instances?.set(id, (instances.get(id) ?? 0) - 1);
    }
  }

  /** @returns whether nobody held any of its instances before */
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

  /** SC-96: ids of the healthy instances that nobody holds, in the node's order. */
  free(device: NodeDevice): string[] {
    const instances = this.held.get(deviceGroupName(device));
    return device.Instances.filter(({ ID, Healthy }) => Healthy && (instances?.get(ID) ?? 0) <= 0).map(({ ID }) => ID);
  }
}

/** What the tasks of an allocation hold. */
export function* devicesOf({
  AllocatedResources: { Tasks },
}: Pick<Allocation, 'AllocatedResources'>): Iterable<AllocatedDevice> {
  for (const name of Object.keys(Tasks)) yield* Tasks[name]?.Devices ?? [];
}

/** Whether there is any device that another allocation could not have as well. */
export function holdsDevices({ AllocatedResources: { Tasks } }: Pick<Allocation, 'AllocatedResources'>): boolean {
  for (const name of Object.keys(Tasks)) if (Tasks[name]?.Devices?.length) return true;
  return false;
}
