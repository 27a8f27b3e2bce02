import { type DeviceGroupStats, deviceName, statText } from '../nodes/node-devices.js';
import { keyValues } from '../terminal/table.js';
import type { AllocationAnswer, AllocationStats } from './task-sections.js';

/** Lists the devices of a task with their use (CL-406, PG-101). Undefined without any. */
export function taskDevices(
  alloc: AllocationAnswer,
  task: string,
  stats: AllocationStats | undefined,
): string | undefined {
  const devices = alloc.AllocatedResources?.Tasks?.[task]?.Devices ?? [];
  const used: readonly DeviceGroupStats[] = stats?.Tasks?.[task]?.ResourceUsage?.DeviceStats ?? [];
  const rows = devices.flatMap((device) => {
    const group = used.find(
      (one) => one.Name === device.Name && one.Type === device.Type && one.Vendor === device.Vendor,
    );
    return (device.DeviceIDs ?? []).map((id): [string, string] => {
      return [`${deviceName(device)}[${id}]`, statText(group?.InstanceStats?.[id]?.Summary)];
    });
  });
  return rows.length === 0 ? undefined : keyValues(rows.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
