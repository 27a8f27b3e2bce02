import { isYounger } from '@waybill/model';
import type { HostCpuStats, HostDiskStats, HostStats } from '@waybill/rpc';

/** CoreTimes holds the milliseconds that a core has spent in each mode since the machine started. */
export interface CoreTimes {
  readonly user: number;
  readonly system: number;
  readonly idle: number;
}

/** HostSample holds the measurements of one moment. Memory is in bytes. */
export interface HostSample {
  readonly atMs: number;
  readonly cores: readonly CoreTimes[];
  readonly memory: { readonly total: number; readonly available: number; readonly free: number };
  readonly disk: HostDiskStats | null;
  readonly uptimeSeconds: number;
}

/**
 * HostUsage computes the machine's use from one sample to the next. The first sample gives the mean since the machine
 * started. A sample within MIN_HOST_SAMPLE_MS of the last one repeats its processor figures.
 */
export class HostUsage {
  private before: readonly CoreTimes[] = [];
  private cpu: readonly HostCpuStats[] = [];
  private lastMs = Number.NEGATIVE_INFINITY;

  /** @param mhzPerCore the MHz that a fully used core counts as */
  constructor(private readonly mhzPerCore: number) {}

  of(sample: HostSample): HostStats {
    if (!isYounger(this.lastMs, sample.atMs, MIN_HOST_SAMPLE_MS)) {
      this.cpu = sample.cores.map((core, i) => this.coreUsage(`cpu${i}`, core, this.before[i] ?? NO_TIME));
      this.before = sample.cores;
      this.lastMs = sample.atMs;
    }
    const { total, available, free } = sample.memory;
    return {
      Memory: { Total: total, Available: available, Used: total - available, Free: free },
      CPU: this.cpu,
      DiskStats: sample.disk ? [sample.disk] : [],
      AllocDirStats: sample.disk,
      DeviceStats: [],
      Uptime: Math.trunc(sample.uptimeSeconds),
      Timestamp: sample.atMs * 1e6,
      CPUTicksConsumed: this.cpu.reduce((sum, core) => sum + core.TotalTicks, 0),
    };
  }

  private coreUsage(name: string, now: CoreTimes, before: CoreTimes): HostCpuStats {
    const spent = { user: now.user - before.user, system: now.system - before.system, idle: now.idle - before.idle };
    const all = Math.max(spent.user + spent.system + spent.idle, 1);
    const percent = (ms: number) => (Math.max(0, ms) / all) * 100;
    const total = percent(spent.user + spent.system);
    return {
      CPU: name,
      User: percent(spent.user),
      System: percent(spent.system),
      Idle: percent(spent.idle),
      TotalPercent: total,
      TotalTicks: (total / 100) * this.mhzPerCore,
    };
  }
}

/** Core times are counted in steps of 10 ms. Over a shorter interval than this, a percentage is meaningless. */
export const MIN_HOST_SAMPLE_MS = 250;

const NO_TIME: CoreTimes = { user: 0, system: 0, idle: 0 };
