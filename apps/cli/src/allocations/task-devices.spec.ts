import { expect, it } from 'vitest';
import type { AllocatedDevice } from '@waybill/model';
import { taskDevices } from './task-devices.js';
import type { AllocationAnswer } from './task-sections.js';

const T4 = { Vendor: 'nvidia', Type: 'gpu', Name: 'T4' };

function allocation(Devices: AllocatedDevice[] | null): AllocationAnswer {
  const Memory = { MemoryMB: 10, MemoryMaxMB: 0 };
  const web = { Cpu: { CpuShares: 10, ReservedCores: null }, Memory, Networks: null, Devices };
  const Shared = { Networks: null, DiskMB: 0, Ports: null };
  return { ID: 'a', AllocatedResources: { Tasks: { web }, TaskLifecycles: {}, Shared } };
}

it('CL-406, PG-101: the devices of a task are shown with their use', () => {
  const alloc = allocation([{ ...T4, DeviceIDs: ['b', 'a'] }]);
  const Summary = { IntNumeratorVal: 40, IntDenominatorVal: 11_441, Unit: 'MiB' };
  const DeviceStats = [
    { ...T4, Name: 'K80', InstanceStats: { a: { Summary: { IntNumeratorVal: 1 } } } },
    { ...T4, InstanceStats: { a: { Summary } } },
  ];
  expect(taskDevices(alloc, 'web', { Tasks: { web: { ResourceUsage: { DeviceStats } } } })?.split('\n')).toEqual([
    'nvidia/gpu/T4[a] = 40 / 11441 MiB',
    'nvidia/gpu/T4[b] = <none>',
  ]);
  expect(taskDevices(alloc, 'web', undefined)).toContain('nvidia/gpu/T4[a] = <none>');
  expect(taskDevices(alloc, 'db', undefined)).toBeUndefined();
  expect(taskDevices(allocation(null), 'web', undefined)).toBeUndefined();
});
