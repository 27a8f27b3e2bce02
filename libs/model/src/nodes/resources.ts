import type { Affinity, Constraint } from '../jobs/placement-rules.js';

/** Resources that a task asks for. CPU is in MHz, memory and disk are in MB. */
export interface Resources {
  CPU: number;
  Cores: number;
  MemoryMB: number;
  MemoryMaxMB: number;
  DiskMB: number;
  IOPS: number;
  Networks: NetworkResource[] | null;
  Devices: RequestedDevice[] | null;
  NUMA: NUMA | null;
  SecretsMB: number;
}

export interface RequestedDevice {
  Name: string;
  Count: number;
  Constraints: Constraint[] | null;
  Affinities: Affinity[] | null;
}

export interface NUMA {
  Affinity: string;
  Devices: string[] | null;
}

/** An omit-empty object (API-17). `Mode` "" stands for `host` and is not filled in. */
export interface NetworkResource {
  Mode: string;
  Device: string;
  CIDR: string;
  IP: string;
  Hostname: string;
  MBits: number;
  DNS: DNSConfig | null;
  ReservedPorts: Port[] | null;
  DynamicPorts: Port[] | null;
  CNI: CNIConfig | null;
}

export interface DNSConfig {
  Servers: string[] | null;
  Searches: string[] | null;
  Options: string[] | null;
}

export interface CNIConfig {
  Args: Record<string, string> | null;
}

/**
 * An omit-empty object (API-17). `Value` is the static port or the assigned dynamic one. `To` -1 stands for the
 * assigned port.
 */
export interface Port {
  Label: string;
  Value: number;
  To: number;
  HostNetwork: string;
  IgnoreCollision: boolean;
}

/** Resources that the scheduler assigned to an allocation. */
export interface AllocatedResources {
  Tasks: Record<string, AllocatedTaskResources>;
  TaskLifecycles: Record<string, TaskLifecycle | null>;
  Shared: AllocatedSharedResources;
}

export interface TaskLifecycle {
  /** One of `prestart`, `poststart`, `poststop`. */
  Hook: string;
  Sidecar: boolean;
}

export interface AllocatedTaskResources {
  Cpu: { CpuShares: number; ReservedCores: number[] | null };
  Memory: { MemoryMB: number; MemoryMaxMB: number };
  Networks: NetworkResource[] | null;
  Devices: AllocatedDevice[] | null;
}

export interface AllocatedDevice {
  Vendor: string;
  Type: string;
  Name: string;
  DeviceIDs: string[];
}

export interface AllocatedSharedResources {
  Networks: NetworkResource[] | null;
  DiskMB: number;
  Ports: AllocatedPort[] | null;
}

/** An omit-empty object (API-17). */
export interface AllocatedPort {
  Label: string;
  Value: number;
  To: number;
  HostIP: string;
  IgnoreCollision: boolean;
}
