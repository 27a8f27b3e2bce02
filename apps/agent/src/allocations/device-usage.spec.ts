import { fixtures } from '@waybill/state';
import { expect, it } from 'vitest';
import { resourceUsage } from '../drivers/process-usage.js';
import { withDevices } from './device-usage.js';

it('PG-101: a task shows the statistics of its own instances only', () => {
  const value = { Summary: null, Stats: null, Timestamp: null };
  const group = (Name: string) => ({ Vendor: 'v', Type: 'gpu', Name, InstanceStats: { a: value, b: value } });
  const alloc = fixtures.anAlloc();
  const given = { Cpu: { CpuShares: 1, ReservedCores: [] }, Memory: { MemoryMB: 1, MemoryMaxMB: 0 }, Networks: [] };
  const device = { Vendor: 'v', Type: 'gpu', Name: 'x', DeviceIDs: ['b'] };
  const silent = { ...device, Name: 'without statistics' };
  const resources = { ...alloc.AllocatedResources, Tasks: { web: { ...given, Devices: [silent, device] } } };
  const task = { ResourceUsage: resourceUsage({}, {}), Timestamp: 1, Pids: null };
  const usage = { ResourceUsage: resourceUsage({}, {}), Tasks: { web: task, db: task }, Timestamp: 1 };

  const shown = withDevices(usage, { AllocatedResources: resources }, [group('x'), group('y')]);
  const own = [{ ...group('x'), InstanceStats: { b: value } }];
  expect(shown.Tasks['web']!.ResourceUsage.DeviceStats).toEqual(own);
  expect(shown.Tasks['db']!.ResourceUsage.DeviceStats).toEqual([]);
  expect(shown.ResourceUsage.DeviceStats).toEqual(own);
});
