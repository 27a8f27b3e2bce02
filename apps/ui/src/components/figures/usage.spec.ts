import { expect, it } from 'vitest';
import type { AllocResourceUsage, HostStats } from '../../api/contract.js';
import { sampleOfAllocation, sampleOfMachine } from './usage.js';

const task = (Measured: readonly string[], RSS: number, Usage: number, TotalTicks: number) => ({
  ResourceUsage: { MemoryStats: { Measured, RSS, Usage }, CpuStats: { TotalTicks } },
});

it('the sample of an allocation has the CPU and the memory of each task', () => {
  const Tasks = { web: task(['RSS', 'Usage'], 100, 300, 12.5), side: task(['Usage'], 0, 40, 1) };
  expect(sampleOfAllocation({ Tasks, Timestamp: 5e9 } as unknown as AllocResourceUsage)).toEqual({
    time: 5,
    values: { 'cpu/web': 12.5, 'memory/web': 100, 'cpu/side': 1, 'memory/side': 40 },
  });
});

it('the sample of a machine has its CPU and its memory', () => {
  const stats = { CPUTicksConsumed: 700, Memory: { Used: 1_024, Total: 4_096 }, Timestamp: 2e9 };
  expect(sampleOfMachine(stats as HostStats)).toEqual({ time: 2, values: { cpu: 700, memory: 1_024 } });
});
