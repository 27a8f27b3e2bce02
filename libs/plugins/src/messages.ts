/** A duration or a moment as it travels. Seconds are 64-bit integers as text. */
export interface TimeMessage {
  readonly seconds: string | number;
  readonly nanos: number;
}

export function durationMessage(ms: number): TimeMessage {
  const seconds = Math.floor(ms / 1_000);
  return { seconds, nanos: Math.round((ms - seconds * 1_000) * 1e6) };
}

export const msOf = (time: TimeMessage | null | undefined): number =>
  time ? Number(time.seconds) * 1_000 + time.nanos / 1e6 : 0;

/** A value that a plugin found out about a machine or a device (PG-46). Exactly one value is set. */
export interface AttributeMessage {
  readonly float_val?: number;
  readonly int_val?: string;
  readonly string_val?: string;
  readonly bool_val?: boolean;
  readonly unit: string;
}

export interface ExitMessage {
  readonly exit_code: number;
  readonly signal: number;
  readonly oom_killed: boolean;
}

export interface NetworkOverrideMessage {
  readonly port_map: Readonly<Record<string, number>>;
  readonly addr: string;
  readonly auto_advertise: boolean;
}

export interface MountMessage {
  readonly task_path: string;
  readonly host_path: string;
  readonly readonly: boolean;
  readonly propagation_mode: string;
}

export interface DeviceMessage {
  readonly task_path: string;
  readonly host_path: string;
  readonly cgroup_permissions: string;
}

/** What a driver is told about a task (PG-56). Members that are left out have the default of their type. */
export interface TaskConfigMessage {
  readonly id: string;
  readonly name: string;
  readonly msgpack_driver_config: Uint8Array;
  readonly env: Readonly<Record<string, string>>;
  readonly device_env?: Readonly<Record<string, string>>;
  readonly resources?: object;
  readonly mounts?: readonly MountMessage[];
  readonly devices?: readonly DeviceMessage[];
  readonly user?: string;
  readonly alloc_dir: string;
  readonly stdout_path: string;
  readonly stderr_path: string;
  readonly task_group_name?: string;
  readonly job_name?: string;
  readonly alloc_id: string;
  readonly network_isolation_spec?: object;
  readonly dns?: {
    readonly servers: readonly string[];
    readonly searches: readonly string[];
    readonly options: readonly string[];
  };
  readonly job_id?: string;
  readonly namespace?: string;
  readonly node_name?: string;
  readonly node_id?: string;
  readonly parent_job_id?: string;
}

/** What finds a task again (PG-59). `driver_state` is the plugin's own. */
export interface TaskHandleMessage {
  readonly version: number;
  readonly config: TaskConfigMessage | null;
  readonly state: string;
  readonly driver_state: Uint8Array;
}

export interface CapabilitiesMessage {
  readonly send_signals: boolean;
  readonly exec: boolean;
  readonly fs_isolation: string;
  readonly network_isolation_modes: readonly string[];
  readonly must_create_network: boolean;
  readonly mount_configs: string;
  readonly disable_log_collection: boolean;
  readonly dynamic_workload_users: boolean;
}

export interface DriverFingerprintMessage {
  readonly attributes: Readonly<Record<string, AttributeMessage>>;
  readonly health: string;
  readonly health_description: string;
  readonly err: string;
}

export interface TaskEventMessage {
  readonly task_id: string;
  readonly alloc_id: string;
  readonly task_name: string;
  readonly timestamp: TimeMessage | null;
  readonly message: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Counters are 64-bit integers as text. */
export interface UsageMessage {
  readonly cpu: {
    readonly system_mode: number;
    readonly user_mode: number;
    readonly total_ticks: number;
    readonly throttled_periods: string;
    readonly throttled_time: string;
    readonly percent: number;
    readonly measured_fields: readonly string[];
  } | null;
  readonly memory: {
    readonly rss: string;
    readonly cache: string;
    readonly max_usage: string;
    readonly kernel_usage: string;
    readonly kernel_max_usage: string;
    readonly usage: string;
    readonly swap: string;
    readonly measured_fields: readonly string[];
  } | null;
}

export interface TaskStatsMessage {
  readonly id: string;
  readonly timestamp: TimeMessage | null;
  readonly agg_resource_usage: UsageMessage | null;
  readonly resource_usage_by_pid: Readonly<Record<string, UsageMessage>>;
}

export interface ExecInput {
  readonly setup?: { readonly task_id: string; readonly command: readonly string[]; readonly tty: boolean };
  readonly tty_size?: { readonly height: number; readonly width: number };
  readonly stdin?: { readonly data?: Uint8Array; readonly close?: boolean };
}

interface ExecPiece {
  readonly data: Uint8Array;
  readonly close: boolean;
}

export interface ExecAnswer {
  readonly stdout: ExecPiece | null;
  readonly stderr: ExecPiece | null;
  readonly exited: boolean;
  readonly result: ExitMessage | null;
}

export interface DetectedDeviceMessage {
  readonly ID: string;
  readonly healthy: boolean;
  readonly health_description: string;
  readonly hw_locality: { readonly pci_bus_id: string } | null;
}

export interface DeviceGroupMessage {
  readonly vendor: string;
  readonly device_type: string;
  readonly device_name: string;
  readonly devices: readonly DetectedDeviceMessage[];
  readonly attributes: Readonly<Record<string, AttributeMessage>>;
}

export interface ReservationMessage {
  readonly envs: Readonly<Record<string, string>>;
  readonly mounts: readonly { readonly task_path: string; readonly host_path: string; readonly read_only: boolean }[];
  readonly devices: readonly { readonly task_path: string; readonly host_path: string; readonly permissions: string }[];
}

type Wrapped<T> = { readonly value: T } | null;

export interface StatValueMessage {
  readonly float_numerator_val: Wrapped<number>;
  readonly float_denominator_val: Wrapped<number>;
  readonly int_numerator_val: Wrapped<string>;
  readonly int_denominator_val: Wrapped<string>;
  readonly string_val: Wrapped<string>;
  readonly bool_val: Wrapped<boolean>;
  readonly unit: string;
  readonly desc: string;
}

export interface StatObjectMessage {
  readonly nested: Readonly<Record<string, StatObjectMessage>>;
  readonly attributes: Readonly<Record<string, StatValueMessage>>;
}

export interface DeviceStatsMessage {
  readonly vendor: string;
  readonly type: string;
  readonly name: string;
  readonly instance_stats: Readonly<
    Record<
      string,
      {
        readonly summary: StatValueMessage | null;
        readonly stats: StatObjectMessage | null;
        readonly timestamp: TimeMessage | null;
      }
    >
  >;
}
