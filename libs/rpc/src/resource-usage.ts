/** In bytes. `Measured` names the fields that this driver knows. The others are 0. */
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

/** Modes and `Percent` are in percent of one core, `TotalTicks` is in MHz. */
export interface CpuStats {
  readonly SystemMode: number;
  readonly UserMode: number;
  readonly TotalTicks: number;
  readonly ThrottledPeriods: number;
  readonly ThrottledTime: number;
  readonly Percent: number;
  readonly Measured: readonly string[];
}

/** A value of a device's statistics. Exactly one kind of value is not null. */
export interface StatValue {
  readonly FloatNumeratorVal: number | null;
  readonly FloatDenominatorVal: number | null;
  readonly IntNumeratorVal: number | null;
  readonly IntDenominatorVal: number | null;
  readonly StringVal: string | null;
  readonly BoolVal: boolean | null;
  readonly Unit: string;
  readonly Desc: string;
}

export interface StatObject {
  readonly Nested: Readonly<Record<string, StatObject>>;
  readonly Attributes: Readonly<Record<string, StatValue>>;
}

/** The statistics of a group of devices, by the ID of the instance. */
export interface DeviceGroupStats {
  readonly Vendor: string;
  readonly Type: string;
  readonly Name: string;
  readonly InstanceStats: Readonly<
    Record<
      string,
      { readonly Summary: StatValue | null; readonly Stats: StatObject | null; readonly Timestamp: string | null }
    >
  >;
}

export interface ResourceUsage {
  readonly MemoryStats: MemoryStats;
  readonly CpuStats: CpuStats;
  readonly DeviceStats: readonly DeviceGroupStats[];
}

export interface TaskResourceUsage {
  readonly ResourceUsage: ResourceUsage;
  /** Time of the sample in unix ns. */
  readonly Timestamp: number;
  /** Usage per process. Null if the driver does not know it. */
  readonly Pids: Readonly<Record<string, ResourceUsage>> | null;
}

/** Resources that an allocation uses: the sum over its running tasks, and each task (AG-330). */
export interface AllocResourceUsage {
  readonly ResourceUsage: ResourceUsage;
  readonly Tasks: Readonly<Record<string, TaskResourceUsage>>;
  /** Time of the newest sample in unix ns. */
  readonly Timestamp: number;
}

/** In bytes and percent. */
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
  /** In MHz. */
  readonly TotalTicks: number;
}

/** Resources that a machine uses. `Uptime` is in seconds, `Timestamp` in unix ns, `CPUTicksConsumed` in MHz. */
export interface HostStats {
  readonly Memory: { readonly Total: number; readonly Available: number; readonly Used: number; readonly Free: number };
  readonly CPU: readonly HostCpuStats[];
  readonly DiskStats: readonly HostDiskStats[];
  readonly AllocDirStats: HostDiskStats | null;
  readonly DeviceStats: readonly DeviceGroupStats[];
  readonly Uptime: number;
  readonly Timestamp: number;
  readonly CPUTicksConsumed: number;
}
