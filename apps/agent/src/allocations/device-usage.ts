import type { AllocatedDevice, Allocation } from '@waybill/model';
import type { AllocResourceUsage, DeviceGroupStats, TaskResourceUsage } from '@waybill/rpc';

/** Adds the statistics of its own devices to each task of an allocation (PG-101). Cost: O(tasks × devices). */
export function withDevices(
  usage: AllocResourceUsage,
  { AllocatedResources }: Pick<Allocation, 'AllocatedResources'>,
  stats: readonly DeviceGroupStats[],
): AllocResourceUsage {
  if (stats.length === 0) return usage;
  const Tasks = Object.entries(usage.Tasks).map(([name, task]): [string, TaskResourceUsage] => {
    const DeviceStats = (AllocatedResources.Tasks[name]?.Devices ?? []).flatMap((device) => statsOf(device, stats));
    return [name, { ...task, ResourceUsage: { ...task.ResourceUsage, DeviceStats } }];
  });
  const all = Tasks.flatMap(([, { ResourceUsage }]) => ResourceUsage.DeviceStats);
  return { ...usage, Tasks: Object.fromEntries(Tasks), ResourceUsage: { ...usage.ResourceUsage, DeviceStats: all } };
}

/** Returns the statistics of the assigned instances. A group without statistics shows nothing. */
function statsOf(device: AllocatedDevice, stats: readonly DeviceGroupStats[]): DeviceGroupStats[] {
  const { Vendor, Type, Name, DeviceIDs } = device;
  return stats
    .filter((group) => group.Vendor === Vendor && group.Type === Type && group.Name === Name)
    .map((group) => ({
      ...group,
      InstanceStats: Object.fromEntries(Object.entries(group.InstanceStats).filter(([id]) => DeviceIDs.includes(id))),
    }));
}
