import { isYounger } from '@waybill/model';
import type { CpuStats, MemoryStats, ResourceUsage, TaskResourceUsage } from '@waybill/rpc';
import { type ProcessMemory, type ProcessRow, TICKS_PER_SECOND } from './process-table.js';

/**
 * The shortest interval between two samples in milliseconds. A sample within it repeats the last one, because the
 * interval is too short to measure.
 */
export const MIN_SAMPLE_MS = 250;

export interface ProcessSample extends ProcessRow, ProcessMemory {}

interface Sampled {
  readonly atMs: number;
  readonly userTicks: number;
  readonly systemTicks: number;
  readonly byPid: ReadonlyMap<number, ProcessSample>;
  readonly usage: TaskResourceUsage | undefined;
}

/**
 * ProcessUsage computes the use of one task's processes from one sample to the next. The use at the task's start counts
 * as zero, so the first sample gives the mean since then. Memory: one small row per process of the last sample.
 */
export class ProcessUsage {
  private last: Sampled;

  /** @param mhzPerCore the MHz that a fully used core counts as in `TotalTicks` */
  constructor(
    startedAtMs: number,
    private readonly mhzPerCore: number,
  ) {
    this.last = { atMs: startedAtMs, userTicks: 0, systemTicks: 0, byPid: new Map(), usage: undefined };
  }

  /** Returns the last sample if it is recent enough to be repeated. */
  recentSample(nowMs: number): TaskResourceUsage | undefined {
    return isYounger(this.last.atMs, nowMs, MIN_SAMPLE_MS) ? this.last.usage : undefined;
  }

  addSample(atMs: number, processes: readonly ProcessSample[]): TaskResourceUsage {
    const recent = this.recentSample(atMs);
    if (recent) return recent; // two callers asked at the same time
    const before = this.last;
    // If the clock was set back, the interval is unknown, so this sample counts as no use.
    const seconds = atMs < before.atMs ? Infinity : Math.max(atMs - before.atMs, 1) / 1_000;
    const total = { userTicks: sum(processes, 'userTicks'), systemTicks: sum(processes, 'systemTicks') };
    const memory = { rssBytes: sum(processes, 'rssBytes'), swapBytes: sum(processes, 'swapBytes') };
    const pids = processes.map((process) => [
      String(process.pid),
      this.usageOf(process, before.byPid.get(process.pid) ?? NOTHING, process, seconds),
    ]);
    const usage: TaskResourceUsage = {
      ResourceUsage: this.usageOf(total, before, memory, seconds),
      Timestamp: atMs * 1e6,
      Pids: Object.fromEntries(pids) as Record<string, ResourceUsage>,
    };
    this.last = { atMs, ...total, byPid: new Map(processes.map((process) => [process.pid, process])), usage };
    return usage;
  }

  /**
   * The ticks of a process that ended without being waited for are lost. The difference is then smaller, but never
   * below 0.
   */
  private usageOf(now: Ticks, before: Ticks, memory: ProcessMemory, seconds: number): ResourceUsage {
    const percent = (ticks: number) => (Math.max(0, ticks) / TICKS_PER_SECOND / seconds) * 100;
    const user = percent(now.userTicks - before.userTicks);
    const system = percent(now.systemTicks - before.systemTicks);
    return resourceUsage(
      { RSS: memory.rssBytes, Swap: memory.swapBytes, Measured: ['RSS', 'Swap'] },
      {
        SystemMode: system,
        UserMode: user,
        Percent: user + system,
        TotalTicks: ((user + system) / 100) * this.mhzPerCore,
        Measured: ['System Mode', 'User Mode', 'Percent'],
      },
    );
  }
}

type Ticks = Pick<ProcessRow, 'userTicks' | 'systemTicks'>;
const NOTHING: Ticks = { userTicks: 0, systemTicks: 0 };

/** Returns a usage with the measured values; all others are 0. */
export function resourceUsage(memory: Partial<MemoryStats>, cpu: Partial<CpuStats>): ResourceUsage {
  return {
    MemoryStats: {
      RSS: 0,
      Cache: 0,
      Swap: 0,
      MappedFile: 0,
      Usage: 0,
      MaxUsage: 0,
      KernelUsage: 0,
      KernelMaxUsage: 0,
      Measured: [],
      ...memory,
    },
    CpuStats: {
      SystemMode: 0,
      UserMode: 0,
      TotalTicks: 0,
      ThrottledPeriods: 0,
      ThrottledTime: 0,
      Percent: 0,
      Measured: [],
      ...cpu,
    },
    DeviceStats: [],
  };
}

function sum<K extends string>(rows: readonly Readonly<Record<K, number>>[], key: K): number {
  return rows.reduce((total, row) => total + row[key], 0);
}
