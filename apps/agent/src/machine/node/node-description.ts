import {
  type HostNetwork,
  type DriverInfo,
  type Node,
  type NodeHostVolume,
  type NodeReservedResources,
  type NodeResources,
  rfc3339FromMs,
} from '@waybill/model';
import type { DriverFingerprint } from '../../drivers/driver.js';

export interface DescribedNode {
  readonly nodeId: string;
  readonly secretId: string;
  readonly name: string;
  readonly datacenter: string;
  readonly nodeClass: string;
  readonly nodePool: string;
  readonly meta: Readonly<Record<string, string>>;
  readonly httpAddr: string;
  /** Says whether `httpAddr` uses TLS. */
  readonly tlsEnabled: boolean;
  readonly attributes: Readonly<Record<string, string>>;
  readonly resources: NodeResources;
  /** The part of the machine that the scheduler keeps from tasks (AG-21). */
  readonly reserved: NodeReservedResources;
  readonly drivers: ReadonlyMap<string, DriverFingerprint>;
  /** The host networks of the configuration by name (NW-123); absent if there are none. */
  readonly hostNetworks?: Readonly<Record<string, HostNetwork>>;
  /** The host volumes of the machine (VL-279); absent if there are none. */
  readonly hostVolumes?: Readonly<Record<string, NodeHostVolume>>;
  /**
   * Whether the servers remove the machine's dynamic host volumes together with the node; the default is no (GC-58).
   */
  readonly gcVolumesOnNodeGC?: boolean;
  readonly nowMs: number;
}

/** Reserves nothing: tasks may use the whole machine. */
export const NONE_RESERVED: NodeReservedResources = {
  Cpu: { CpuShares: 0, ReservedCpuCores: [] },
  Memory: { MemoryMB: 0 },
  Disk: { DiskMB: 0 },
  Networks: { ReservedHostPorts: '' },
};

/** Describes a driver. An undetected driver has no attributes (AG-22), and empty attributes are left out (AG-25). */
export function describeDriver(print: DriverFingerprint, nowMs: number): DriverInfo {
  const Detected = print.health !== 'undetected';
  const attributes = Object.entries(print.attributes).filter(([, value]) => value !== '');
  return {
    Attributes: Detected ? Object.fromEntries(attributes) : {},
    Detected,
    Healthy: print.health === 'healthy',
    HealthDescription: print.description,
    UpdateTime: rfc3339FromMs(nowMs),
    ...(print.taskConfigSchema !== undefined && { TaskConfigSchema: print.taskConfigSchema }),
  };
}

/**
 * Returns the node as the agent registers it (AG-11, AG-20 to AG-22, AG-25). Fields that the servers decide are empty.
 */
export function describeNode(of: DescribedNode): Node {
  const usable = of.resources.Cpu.CpuShares - of.reserved.Cpu.CpuShares;
  const attributes: Record<string, string> = { ...of.attributes, 'cpu.usablecompute': String(Math.max(0, usable)) };
  const drivers: Record<string, DriverInfo> = {};
  for (const [name, print] of of.drivers) {
    drivers[name] = describeDriver(print, of.nowMs);
    Object.assign(attributes, drivers[name].Attributes);
  }
  return {
    ID: of.nodeId,
    SecretID: of.secretId,
    Datacenter: of.datacenter,
    Name: of.name,
    NodeClass: of.nodeClass,
    NodePool: of.nodePool,
    HTTPAddr: of.httpAddr,
    TLSEnabled: of.tlsEnabled,
    CgroupParent: '',
    Attributes: attributes,
    NodeResources: of.resources,
    ReservedResources: of.reserved,
    Links: {},
    Meta: { ...of.meta },
    ComputedClass: '',
    DrainStrategy: null,
    SchedulingEligibility: 'eligible',
    Status: 'initializing',
    StatusDescription: '',
    StatusUpdatedAt: 0,
    IdentitySigningKeyID: '',
    Events: [],
    Drivers: drivers,
    CSIControllerPlugins: {},
    CSINodePlugins: {},
    HostVolumes: { ...of.hostVolumes },
    GCVolumesOnNodeGC: of.gcVolumesOnNodeGC ?? false,
    HostNetworks: { ...of.hostNetworks },
    LastDrain: null,
    NodeMaxAllocs: 0,
    LastMissedHeartbeatIndex: 0,
    LastAllocUpdateIndex: 0,
    CreateIndex: 0,
    ModifyIndex: 0,
  };
}
