import type { HostVolume, HostVolumeSpecification } from '@waybill/model';
import type { IndexResponse } from './broker.js';
import { call } from './call.js';
import type { OnBehalfOf } from './deployments.js';

/** How long a plugin may take for one volume (VL-289). */
export const HOST_VOLUME_PLUGIN_TIMEOUT_MS = 60_000;
/** The machine's own part, and other work on the same volume that comes first. */
const MACHINE_TIMEOUT_MS = 2 * HOST_VOLUME_PLUGIN_TIMEOUT_MS;
const MACHINE = { timeoutMs: MACHINE_TIMEOUT_MS, watched: true };
/** Other work on the same volume may come first here, too. */
const OPERATED = { role: 'volumes', timeoutMs: 2 * MACHINE_TIMEOUT_MS, watched: true } as const;

interface OperatorRequest {
  readonly For: OnBehalfOf;
}
export interface WriteHostVolumeRequest extends OperatorRequest {
  readonly Volume: HostVolumeSpecification;
}
export interface WriteHostVolumeResponse extends IndexResponse {
  readonly ID: string;
}
export interface DeleteHostVolumeRequest extends OperatorRequest {
  readonly Namespace: string;
  readonly VolumeID: string;
  /** Also when its machine is gone. */
  readonly Force: boolean;
}
export interface DeleteHostVolumeClaimRequest extends OperatorRequest {
  readonly Namespace: string;
  readonly ClaimID: string;
}

export const createHostVolume = call<WriteHostVolumeRequest, WriteHostVolumeResponse>(
  'volumes.createHostVolume',
  OPERATED,
);
export const registerHostVolume = call<WriteHostVolumeRequest, WriteHostVolumeResponse>(
  'volumes.registerHostVolume',
  OPERATED,
);
export const deleteHostVolume = call<DeleteHostVolumeRequest, IndexResponse>('volumes.deleteHostVolume', OPERATED);
export const deleteHostVolumeClaim = call<DeleteHostVolumeClaimRequest, IndexResponse>(
  'volumes.deleteHostVolumeClaim',
  OPERATED,
);

/** What a machine is told of a volume. */
export type HostVolumeOnNode = Pick<
  HostVolume,
  | 'Namespace'
  | 'ID'
  | 'Name'
  | 'PluginID'
  | 'NodePool'
  | 'NodeID'
  | 'RequestedCapacityMinBytes'
  | 'RequestedCapacityMaxBytes'
  | 'Parameters'
  | 'HostPath'
>;
export interface CreatedOnNode {
  readonly HostPath: string;
  readonly CapacityBytes: number;
}

/** To the volume's machine: the target is its node's id. Refusals say what the plugin says; all may be repeated. */
export const createOnNode = call<HostVolumeOnNode, CreatedOnNode>('agent.hostVolumeCreate', MACHINE);
export const registerOnNode = call<HostVolumeOnNode, null>('agent.hostVolumeRegister', MACHINE);
export const deleteOnNode = call<HostVolumeOnNode, null>('agent.hostVolumeDelete', MACHINE);
