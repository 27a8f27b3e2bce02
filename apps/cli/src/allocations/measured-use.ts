import { formatBytes, formatPercent } from '../terminal/sizes.js';
import { table } from '../terminal/table.js';
import type { AllocationStats, Measurements } from './task-sections.js';

/** Measured values as a table with one row and columns sorted by name. */
export interface MeasuredUse {
  readonly title: 'Memory Stats' | 'CPU Stats';
  readonly table: string;
}

/** Returns the measured values of a task for `-stats` (CL-406), or nothing if the task does not run. */
export function measuredUse(stats: AllocationStats | undefined, task: string): MeasuredUse[] {
  const usage = stats?.Tasks?.[task]?.ResourceUsage;
  return [
    ...section('Memory Stats', usage?.MemoryStats, (value) => formatBytes(value)),
    ...section('CPU Stats', usage?.CpuStats, (value, name) =>
      name.startsWith('Throttled') ? String(value) : formatPercent(value),
    ),
  ];
}

function section(
  title: MeasuredUse['title'],
  of: Measurements | undefined,
  shown: (value: number, name: string) => string,
): MeasuredUse[] {
  const names = (of?.Measured ?? []).toSorted();
  if (!of || names.length === 0) return [];
  // A measured value has a readable name: `System Mode` is the member `SystemMode`.
  const cells = names.map((name) => shown(Number(of[name.replaceAll(' ', '')] ?? 0), name));
  return [{ title, table: table([names, cells]) }];
}
