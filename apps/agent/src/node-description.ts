import { type DriverInfo, type Node, type NodeHostVolume, type NodeResources, rfc3339FromMs } from '@waybill/model';
import type { DriverFingerprint } from './drivers/driver.js';

export interface DescribedNode {
  readonly nodeId: string;
  readonly secretId: string;
  readonly name: string;
  readonly datacenter: string;
  readonly nodeClass: string;
  readonly nodePool: string;
  readonly meta: Readonly<Record<string, string>>;
  readonly httpAddr: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly resources: NodeResources;
  readonly drivers: ReadonlyMap<string, DriverFingerprint>;
  /** VL-279; absent: none. */
  readonly hostVolumes?: Readonly<Record<string, NodeHostVolume>>;
  /** GC-58. */
  readonly gcVolumesOnNodeGC?: boolean;
  readonly nowMs: number;
}

/** The machine as it is registered (AG-11, AG-20 to AG-22, AG-25). What the servers decide is empty. */
export function describeNode(of: DescribedNode): Node {
  const attributes: Record<string, string> = { ...of.attributes };
  const drivers: Record<string, DriverInfo> = {};
  for (const [name, print] of of.drivers) {
    const detected = print.health !== 'undetected';
    if (detected) Object.assign(attributes, print.attributes);
    drivers[name] = {
      Attributes: detected ? { ...print.attributes } : {},
      Detected: detected,
      Healthy: print.health === 'healthy',
      HealthDescription: print.description,
      UpdateTime: rfc3339FromMs(of.nowMs),
    };
  }
  return {
    ID: of.nodeId,
    SecretID: of.secretId,
    Datacenter: of.datacenter,
    Name: of.name,
    NodeClass: of.nodeClass,
    NodePool: of.nodePool,
    HTTPAddr: of.httpAddr,
    TLSEnabled: false,
    CgroupParent: '',
    Attributes: attributes,
    NodeResources: of.resources,
    ReservedResources: {
      Cpu: { CpuShares: 0, ReservedCpuCores: [] },
      Memory: { MemoryMB: 0 },
      Disk: { DiskMB: 0 },
      Networks: { ReservedHostPorts: '' },
    },
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
    HostNetworks: {},
    LastDrain: null,
    NodeMaxAllocs: 0,
    LastMissedHeartbeatIndex: 0,
    LastAllocUpdateIndex: 0,
    CreateIndex: 0,
    ModifyIndex: 0,
  };
}
