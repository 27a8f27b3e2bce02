import type { AllocatedTaskResources, Allocation, TaskState } from '@waybill/model';
import type { CpuStats, MemoryStats, ResourceUsage } from '@waybill/rpc';
import { jobLabels, type Labels, METRICS_PREFIX, type Series } from '@waybill/telemetry';

const BYTES_PER_MB = 1024 * 1024;

/** Measure is a gauge's name, the name of the measurement in the driver's `Measured` list, and its value. */
type Measure<Stats> = readonly [name: string, measured: string, value: (stats: Stats) => number];

const MEMORY: readonly Measure<MemoryStats>[] = [
  ['usage', 'Usage', (memory) => memory.Usage],
  ['rss', 'RSS', (memory) => memory.RSS],
  ['cache', 'Cache', (memory) => memory.Cache],
  ['swap', 'Swap', (memory) => memory.Swap],
  ['mapped_file', 'Mapped File', (memory) => memory.MappedFile],
  ['max_usage', 'Max Usage', (memory) => memory.MaxUsage],
  ['kernel_usage', 'Kernel Usage', (memory) => memory.KernelUsage],
  ['kernel_max_usage', 'Kernel Max Usage', (memory) => memory.KernelMaxUsage],
];

const CPU: readonly Measure<CpuStats>[] = [
  ['total_percent', 'Percent', (cpu) => cpu.Percent],
  ['total_ticks', 'Percent', (cpu) => cpu.TotalTicks],
  ['system', 'System Mode', (cpu) => cpu.SystemMode],
  ['user', 'User Mode', (cpu) => cpu.UserMode],
  ['throttled_periods', 'Throttled Periods', (cpu) => cpu.ThrottledPeriods],
  ['throttled_time', 'Throttled Time', (cpu) => cpu.ThrottledTime],
];

/** Returns the labels that distinguish the series of one task from those of other tasks (OP-104). */
export const taskLabels = ({ ID, Job, JobID, Namespace, TaskGroup }: Allocation, task: string): Labels => ({
  ...jobLabels(Job ?? { ID: JobID, Namespace, ParentID: '' }),
  task_group: TaskGroup,
  alloc_id: ID,
  task,
});

const series = (name: string, value: number, labels: Labels): Series => ({
  name: `${METRICS_PREFIX}client.allocs.${name}`,
  labels,
  value,
});

/** Returns the series of a running task's use. It contains only what its driver measures. */
export function usageSeries({ MemoryStats, CpuStats }: ResourceUsage, labels: Labels): Series[] {
  return [...measuredSeries('memory', MemoryStats, MEMORY, labels), ...measuredSeries('cpu', CpuStats, CPU, labels)];
}

function measuredSeries<Stats extends { readonly Measured: readonly string[] }>(
  family: string,
  stats: Stats,
  measures: readonly Measure<Stats>[],
  labels: Labels,
): Series[] {
  const known = measures.filter(([, name]) => stats.Measured.includes(name));
  return known.map(([name, , value]) => series(`${family}.${name}`, value(stats), labels));
}

/** Returns the series of a task's reserved resources: MHz, bytes. The maximum memory is there only if it is set. */
export function givenSeries({ Cpu, Memory }: AllocatedTaskResources, labels: Labels): Series[] {
  const most =
    Memory.MemoryMaxMB > 0 ? [series('memory.max_allocated', Memory.MemoryMaxMB * BYTES_PER_MB, labels)] : [];
  return [
    series('cpu.allocated', Cpu.CpuShares, labels),
    series('memory.allocated', Memory.MemoryMB * BYTES_PER_MB, labels),
    ...most,
  ];
}

/**
 * Returns the counters of a task's life since its allocation was placed here. They come from the task's state, so they
 * continue after a restart of the agent.
 * @param oomKills the count of OomKills
 */
export function lifeCounters(state: TaskState, oomKills: number, labels: Labels): Series[] {
  const { State, Failed, Restarts, StartedAt } = state;
  const wasStarted = StartedAt !== null;
  const isDead = State === 'dead';
  const starts = Restarts + (State === 'pending' ? 0 : 1); // a task that waits for its next start has not started again yet
  return [
    series('running', wasStarted ? starts : 0, labels),
    series('failed', Number(isDead && Failed), labels),
    series('complete', Number(isDead && !Failed && wasStarted), labels),
    series('restart', Restarts, labels),
    series('oom_killed', oomKills, labels),
  ];
}
