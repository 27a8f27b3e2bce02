import type { HostVolume, HostVolumeSpecification } from '@waybill/model';
import type { IndexResponse } from './broker.js';
import { call } from './call.js';
import type { OnBehalfOf } from './deployments.js';
import { anyIn, needsInNamespace } from './user-needs.js';

/** Longest time for a plugin to process one volume (VL-289). */
export const HOST_VOLUME_PLUGIN_TIMEOUT_MS = 60_000;
/** Time for the plugin and for earlier work on the same volume. */
const MACHINE_TIMEOUT_MS = 2 * HOST_VOLUME_PLUGIN_TIMEOUT_MS;
const MACHINE = { timeoutMs: MACHINE_TIMEOUT_MS, watched: true, fencedBy: 'volumes' } as const;
/** Calls of operators. Earlier work on the same volume takes time here, too. */
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
  /** Delete the volume even if its machine is gone. */
  readonly Force: boolean;
}
export interface DeleteHostVolumeClaimRequest extends OperatorRequest {
  readonly Namespace: string;
  readonly ClaimID: string;
}

export const createHostVolume = call<WriteHostVolumeRequest, WriteHostVolumeResponse>('volumes.createHostVolume', {
  ...OPERATED,
  userNeeds: ({ Volume }) => anyIn([Volume.Namespace], ['host-volume-create']),
});
export const registerHostVolume = call<WriteHostVolumeRequest, WriteHostVolumeResponse>('volumes.registerHostVolume', {
  ...OPERATED,
  userNeeds: ({ Volume }) => anyIn([Volume.Namespace], ['host-volume-register']),
});
export const deleteHostVolume = call<DeleteHostVolumeRequest, IndexResponse>('volumes.deleteHostVolume', {
  ...OPERATED,
  userNeeds: needsInNamespace('host-volume-delete'),
});
export const deleteHostVolumeClaim = call<DeleteHostVolumeClaimRequest, IndexResponse>(
  'volumes.deleteHostVolumeClaim',
  { ...OPERATED, userNeeds: needsInNamespace('host-volume-delete') },
);

/** The members of a volume that its machine gets. */
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

/**
 * Goes to the volume's machine: the target is its node ID. A refusal contains the plugin's text. All of these calls may
 * be repeated.
 */
export const createOnNode = call<HostVolumeOnNode, CreatedOnNode>('agent.hostVolumeCreate', MACHINE);
export const registerOnNode = call<HostVolumeOnNode, null>('agent.hostVolumeRegister', MACHINE);
export const deleteOnNode = call<HostVolumeOnNode, null>('agent.hostVolumeDelete', MACHINE);
