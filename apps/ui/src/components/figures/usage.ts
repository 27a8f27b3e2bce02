import type { AllocResourceUsage, HostStats } from '../../api/contract.js';
import type { Sample } from './samples.js';

/** The values of a task have its name behind one of these. The values of a machine are named by these alone. */
export const CPU = 'cpu';
export const MEMORY = 'memory';

/** Returns the name of a task's values. A task's name has no slash. */
export const valueOfTask = (kind: typeof CPU | typeof MEMORY, task: string): string => `${kind}/${task}`;

const NS_PER_SECOND = 1e9;

/** Returns what each task uses: its CPU in MHz, its memory in bytes. */
export function sampleOfAllocation({ Tasks, Timestamp }: AllocResourceUsage): Sample {
  const values = Object.entries(Tasks).flatMap(([task, { ResourceUsage }]) => [
    [valueOfTask(CPU, task), ResourceUsage.CpuStats.TotalTicks] as const,
    [valueOfTask(MEMORY, task), memoryOf(ResourceUsage.MemoryStats)] as const,
  ]);
  return { time: Timestamp / NS_PER_SECOND, values: Object.fromEntries(values) };
}

type MemoryStats = AllocResourceUsage['ResourceUsage']['MemoryStats'];

/** Drivers measure one of them, or both; the resident pages do not count caches. */
const memoryOf = ({ Measured, RSS, Usage }: MemoryStats): number => (Measured.includes('RSS') ? RSS : Usage);

/** Returns what a machine uses: its CPU in MHz, its memory in bytes. */
export const sampleOfMachine = ({ CPUTicksConsumed, Memory, Timestamp }: HostStats): Sample => ({
  time: Timestamp / NS_PER_SECOND,
  values: { [CPU]: CPUTicksConsumed, [MEMORY]: Memory.Used },
});
