import type { CSIInfo } from '../volumes/csi-plugin.js';
import type { NetworkResource } from './resources.js';

export type NodeStatus = 'initializing' | 'ready' | 'down' | 'disconnected';
export type SchedulingEligibility = 'eligible' | 'ineligible';

/** A machine. The stored form includes the SecretID, so only the encoder's form may leave the services (API-20). */
export interface Node {
  ID: string;
  SecretID: string;
  Datacenter: string;
  Name: string;
  NodeClass: string;
  NodePool: string;
  /** Address of the agent's HTTP listener, `ip:port`. */
  HTTPAddr: string;
  TLSEnabled: boolean;
  CgroupParent: string;
  Attributes: Record<string, string>;
  NodeResources: NodeResources;
  ReservedResources: NodeReservedResources;
  Links: Record<string, string>;
  Meta: Record<string, string>;
  ComputedClass: string;
  DrainStrategy: DrainStrategy | null;
  SchedulingEligibility: SchedulingEligibility;
  Status: NodeStatus;
  StatusDescription: string;
  /** In unix seconds. */
  StatusUpdatedAt: number;
  IdentitySigningKeyID: string;
  /** The 10 newest events, oldest first. */
  Events: NodeEvent[];
  Drivers: Record<string, DriverInfo>;
  CSIControllerPlugins: Record<string, CSIInfo>;
  CSINodePlugins: Record<string, CSIInfo>;
  HostVolumes: Record<string, NodeHostVolume>;
  GCVolumesOnNodeGC: boolean;
  HostNetworks: Record<string, HostNetwork>;
  LastDrain: DrainMetadata | null;
  NodeMaxAllocs: number;
  LastMissedHeartbeatIndex: number;
  LastAllocUpdateIndex: number;
  CreateIndex: number;
  ModifyIndex: number;
}

/** Memory and disk are in MB, CPU is in MHz. */
export interface NodeResources {
  Cpu: { CpuShares: number; TotalCpuCores: number; ReservableCpuCores: number[] | null };
  Processors: { Topology: Record<string, unknown> | null };
  Memory: { MemoryMB: number };
  Disk: { DiskMB: number };
  Devices: NodeDevice[] | null;
  NodeNetworks: NodeNetwork[] | null;
  Networks: NetworkResource[] | null;
  MinDynamicPort: number;
  MaxDynamicPort: number;
}

export interface NodeDevice {
  Vendor: string;
  Type: string;
  Name: string;
  Instances: { ID: string; Healthy: boolean; HealthDescription: string; Locality: Record<string, unknown> | null }[];
  Attributes: Record<string, unknown> | null;
}

export interface NodeNetwork {
  Mode: string;
  Device: string;
  MacAddress: string;
  Speed: number;
  Addresses: NodeNetworkAddress[] | null;
}

export interface NodeNetworkAddress {
  Family: string;
  Alias: string;
  Address: string;
  ReservedPorts: string;
  Gateway: string;
}

export interface NodeReservedResources {
  Cpu: { CpuShares: number; ReservedCpuCores: number[] | null };
  Memory: { MemoryMB: number };
  Disk: { DiskMB: number };
  /** A list of ports such as `22,80,8500-8600`. */
  Networks: { ReservedHostPorts: string };
}

/** `Deadline` is in nanoseconds. A negative one forces the drain at once. */
export interface DrainStrategy {
  Deadline: number;
  IgnoreSystemJobs: boolean;
  ForceDeadline: string | null;
  StartedAt: string | null;
}

export interface DrainMetadata {
  StartedAt: string | null;
  UpdatedAt: string | null;
  Status: 'draining' | 'complete' | 'canceled';
  AccessorID: string;
  Meta: Record<string, string> | null;
}

export interface NodeEvent {
  Message: string;
  Subsystem: 'Cluster' | 'CSI' | 'Device' | 'Drain' | 'Driver' | 'Heartbeat' | 'Network' | 'Scheduler' | 'Storage';
  Details: Record<string, string> | null;
  Timestamp: string | null;
  CreateIndex: number;
}

export interface DriverInfo {
  Attributes: Record<string, string> | null;
  Detected: boolean;
  Healthy: boolean;
  HealthDescription: string;
  UpdateTime: string | null;
  /**
   * The schema of the `config` block of this driver's tasks as JSON, at most MAX_DRIVER_SCHEMA_CHARS (PG-47). Empty if
   * the driver has a schema that the machine could not report; absent for the drivers of Waybill itself.
   */
  TaskConfigSchema?: string;
}

export interface NodeHostVolume {
  Name: string;
  Path: string;
  ReadOnly: boolean;
  ID: string;
}

export interface HostNetwork {
  Name: string;
  CIDR: string;
  Interface: string;
  ReservedPorts: string;
}

/** A node in a list. */
export interface NodeListStub {
  Address: string;
  ID: string;
  Attributes?: Record<string, string>;
  Datacenter: string;
  Name: string;
  NodePool: string;
  NodeClass: string;
  Version: string;
  Drain: boolean;
  SchedulingEligibility: SchedulingEligibility;
  Status: NodeStatus;
  StatusDescription: string;
  Drivers: Record<string, DriverInfo>;
  HostVolumes: Record<string, NodeHostVolume>;
  NodeResources?: NodeResources;
  ReservedResources?: NodeReservedResources;
  LastDrain: DrainMetadata | null;
  CreateIndex: number;
  ModifyIndex: number;
}

/** Whether the node may receive new allocations. */
export function isReadyNode(node: Pick<Node, 'Status' | 'SchedulingEligibility' | 'DrainStrategy'>): boolean {
  return node.Status === 'ready' && node.DrainStrategy === null && node.SchedulingEligibility === 'eligible';
}

/** Whether the node counts as not running, so that its allocations are lost. */
export function isDownNode(node: Pick<Node, 'Status'>): boolean {
  return node.Status === 'down';
}
