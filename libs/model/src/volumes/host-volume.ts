import type { Constraint } from '../jobs/placement-rules.js';
import type { VolumeCapability } from '../jobs/volume.js';

export type HostVolumeState = 'pending' | 'ready' | 'unavailable';

/** A directory of one node that a plugin of its agent made, or an operator registered (3.30). Sizes in bytes. */
export interface HostVolume {
  Namespace: string;
  ID: string;
  Name: string;
  PluginID: string;
  NodePool: string;
  NodeID: string;
  Constraints: Constraint[] | null;
  RequestedCapacityMinBytes: number;
  RequestedCapacityMaxBytes: number;
  CapacityBytes: number;
  RequestedCapabilities: VolumeCapability[] | null;
  Parameters: Record<string, string> | null;
  HostPath: string;
  State: HostVolumeState;
  CreateIndex: number;
  CreateTime: number;
  ModifyIndex: number;
  ModifyTime: number;
}

/** What an operator may say of one; the rest is the servers' and the node's. */
export type HostVolumeSpecification = Omit<
  HostVolume,
  'State' | 'CreateIndex' | 'CreateTime' | 'ModifyIndex' | 'ModifyTime'
>;

/** A sticky request of a group has met a volume: replacements go back to it (VL-294). */
export interface TaskGroupHostVolumeClaim {
  ID: string;
  Namespace: string;
  JobID: string;
  TaskGroupName: string;
  AllocID: string;
  VolumeID: string;
  VolumeName: string;
  CreateIndex: number;
  ModifyIndex: number;
}
