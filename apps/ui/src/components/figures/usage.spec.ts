import { expect, it } from 'vitest';
import type { AllocResourceUsage, HostStats } from '../../api/contract.js';
import { sampleOfAllocation, sampleOfMachine } from './usage.js';

type TaskUsage = AllocResourceUsage['Tasks'][string];

function task(Measured: readonly string[], RSS: number, Usage: number, TotalTicks: number): TaskUsage {
  const memory = {
    Measured,
    RSS,
    Usage,
    Cache: 0,
    Swap: 0,
    MappedFile: 0,
    MaxUsage: 0,
    KernelUsage: 0,
    KernelMaxUsage: 0,
  };
  const cpu = {
    TotalTicks,
    SystemMode: 0,
    UserMode: 0,
    ThrottledPeriods: 0,
    ThrottledTime: 0,
    Percent: 0,
    Measured: [],
  };
  return { ResourceUsage: { MemoryStats: memory, CpuStats: cpu, DeviceStats: [] }, Timestamp: 0, Pids: null };
}

it('the sample of an allocation has the CPU and the memory of each task', () => {
  const Tasks = { web: task(['RSS', 'Usage'], 100, 300, 12.5), side: task(['Usage'], 0, 40, 1) };
  expect(sampleOfAllocation({ ResourceUsage: Tasks.web.ResourceUsage, Tasks, Timestamp: 5e9 })).toEqual({
    time: 5,
    values: { 'cpu/web': 12.5, 'memory/web': 100, 'cpu/side': 1, 'memory/side': 40 },
  });
});

it('the sample of a machine has its CPU and its memory', () => {
  const stats = { CPUTicksConsumed: 700, Memory: { Used: 1_024, Total: 4_096 }, Timestamp: 2e9 };
  expect(sampleOfMachine(stats as HostStats)).toEqual({ time: 2, values: { cpu: 700, memory: 1_024 } });
});
