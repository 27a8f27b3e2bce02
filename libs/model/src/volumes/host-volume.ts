import type { Constraint } from '../jobs/placement-rules.js';
import type { VolumeCapability } from '../jobs/volume.js';

export type HostVolumeState = 'pending' | 'ready' | 'unavailable';

/**
 * A directory of one node. A plugin of its agent created it, or an operator registered it (3.30). Sizes are in bytes.
 */
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

/** The members of a host volume that an operator may set. The servers and the node set the others. */
export type HostVolumeSpecification = Omit<
  HostVolume,
  'State' | 'CreateIndex' | 'CreateTime' | 'ModifyIndex' | 'ModifyTime'
>;

/** Binds a group's sticky request to a volume, so that replacements use the same one (VL-294). */
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
