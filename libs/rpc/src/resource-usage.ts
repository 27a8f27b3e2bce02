/** Bytes. `Measured` names the fields that this driver knows; the others are 0. */
export interface MemoryStats {
  readonly RSS: number;
  readonly Cache: number;
  readonly Swap: number;
  readonly MappedFile: number;
  readonly Usage: number;
  readonly MaxUsage: number;
  readonly KernelUsage: number;
  readonly KernelMaxUsage: number;
  readonly Measured: readonly string[];
}

/** Modes and `Percent` in percent of one core; `TotalTicks` in MHz. */
export interface CpuStats {
  readonly SystemMode: number;
  readonly UserMode: number;
  readonly TotalTicks: number;
  readonly ThrottledPeriods: number;
  readonly ThrottledTime: number;
  readonly Percent: number;
  readonly Measured: readonly string[];
}

export interface ResourceUsage {
  readonly MemoryStats: MemoryStats;
  readonly CpuStats: CpuStats;
  readonly DeviceStats: readonly never[];
}

export interface TaskResourceUsage {
  readonly ResourceUsage: ResourceUsage;
  /** Unix ns of the sample. */
  readonly Timestamp: number;
  /** Per process; null where a driver knows none. */
  readonly Pids: Readonly<Record<string, ResourceUsage>> | null;
}

/** What an allocation uses: the sum over its running tasks, and each of them (AG-330). */
export interface AllocResourceUsage {
  readonly ResourceUsage: ResourceUsage;
  readonly Tasks: Readonly<Record<string, TaskResourceUsage>>;
  /** Unix ns of the newest sample. */
  readonly Timestamp: number;
}

/** Bytes, percent. */
export interface HostDiskStats {
  readonly Device: string;
  readonly Mountpoint: string;
  readonly Size: number;
  readonly Used: number;
  readonly Available: number;
  readonly UsedPercent: number;
  readonly InodesUsedPercent: number;
}

export interface HostCpuStats {
  readonly CPU: string;
  readonly User: number;
  readonly System: number;
  readonly Idle: number;
  readonly TotalPercent: number;
  /** MHz */
  readonly TotalTicks: number;
}

/** What a machine uses. `Uptime` in seconds, `Timestamp` unix ns, `CPUTicksConsumed` in MHz. */
export interface HostStats {
  readonly Memory: { readonly Total: number; readonly Available: number; readonly Used: number; readonly Free: number };
  readonly CPU: readonly HostCpuStats[];
  readonly DiskStats: readonly HostDiskStats[];
  readonly AllocDirStats: HostDiskStats | null;
  readonly DeviceStats: readonly never[];
  readonly Uptime: number;
  readonly Timestamp: number;
  readonly CPUTicksConsumed: number;
}
