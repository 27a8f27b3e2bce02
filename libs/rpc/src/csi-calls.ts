import type { CSIVolumeClaim, MountOptions, Topology, TopologyRequest, VolumeCapability } from '@waybill/model';
import { call } from './call.js';

/** A plugin may take 2 minutes for a call (VL-249), and may have to end another one before. */
const CSI_CALL_TIMEOUT_MS = 5 * 60_000;
/** Servers send a plugin one changing call at a time (VL-129); this bounds what a machine with many plugins works on. */
const MAX_CSI_CALLS_IN_PROGRESS = 256;

const toPlugin = <Req, Res>(method: string) =>
  call<Req, Res>(`agent.csi${method}`, { timeoutMs: CSI_CALL_TIMEOUT_MS, maxInProgress: MAX_CSI_CALLS_IN_PROGRESS });

type StringMap = Readonly<Record<string, string>>;

/** Volumes and machines are named as the provider names them. Sizes in bytes, 0: no bound. */
interface PluginCall {
  readonly PluginID: string;
}
interface SecretPluginCall extends PluginCall {
  readonly Secrets: StringMap | null;
}

export interface ControllerAttachVolumeRequest extends SecretPluginCall {
  readonly VolumeID: string;
  readonly ClientCSINodeID: string;
  readonly AttachmentMode: string;
  readonly AccessMode: string;
  readonly MountOptions: MountOptions | null;
  readonly ReadOnly: boolean;
  readonly VolumeContext: StringMap | null;
}
export interface ControllerAttachVolumeResponse {
  readonly PublishContext: StringMap;
}
export interface ControllerDetachVolumeRequest extends SecretPluginCall {
  readonly VolumeID: string;
  readonly ClientCSINodeID: string;
}
/** Refused when the plugin confirms something else (VL-20). */
export interface ControllerValidateVolumeRequest extends SecretPluginCall {
  readonly VolumeID: string;
  readonly VolumeCapabilities: readonly VolumeCapability[];
  readonly Parameters: StringMap | null;
  readonly VolumeContext: StringMap | null;
}
export interface ControllerCreateVolumeRequest extends SecretPluginCall {
  readonly Name: string;
  readonly VolumeCapabilities: readonly VolumeCapability[];
  readonly MountOptions: MountOptions | null;
  readonly Parameters: StringMap | null;
  readonly CapacityMin: number;
  readonly CapacityMax: number;
  readonly SnapshotID: string;
  readonly CloneID: string;
  readonly RequestedTopologies: TopologyRequest | null;
}
export interface ControllerCreateVolumeResponse {
  readonly ExternalVolumeID: string;
  readonly CapacityBytes: number;
  readonly VolumeContext: StringMap;
  readonly CloneID: string;
  readonly SnapshotID: string;
  readonly Topologies: readonly Topology[];
}
export interface ControllerDeleteVolumeRequest extends SecretPluginCall {
  readonly ExternalVolumeID: string;
}
export interface ControllerExpandVolumeRequest extends SecretPluginCall {
  readonly ExternalVolumeID: string;
  readonly CapacityMin: number;
  readonly CapacityMax: number;
  /** null: nobody claims it (VL-48). */
  readonly VolumeCapability: VolumeCapability | null;
  readonly MountOptions: MountOptions | null;
}
export interface ControllerExpandVolumeResponse {
  readonly CapacityBytes: number;
  readonly NodeExpansionRequired: boolean;
}
export interface ControllerListVolumesRequest extends PluginCall {
  readonly MaxEntries: number;
  readonly StartingToken: string;
}
/** 2.6. */
export interface ExternalVolume {
  readonly ExternalID: string;
  readonly CapacityBytes: number;
  readonly VolumeContext: StringMap;
  readonly CloneID: string;
  readonly SnapshotID: string;
  readonly PublishedExternalNodeIDs: readonly string[];
  readonly IsAbnormal: boolean;
  readonly Status: string;
}
export interface ControllerListVolumesResponse {
  readonly Entries: readonly ExternalVolume[];
  readonly NextToken: string;
}
export interface ControllerCreateSnapshotRequest extends SecretPluginCall {
  readonly VolumeID: string;
  readonly Name: string;
  readonly Parameters: StringMap | null;
}
/** `CreateTime` in unix seconds. */
export interface ExternalSnapshot {
  readonly ID: string;
  readonly ExternalSourceVolumeID: string;
  readonly SizeBytes: number;
  readonly CreateTime: number;
  readonly IsReady: boolean;
}
export interface ControllerDeleteSnapshotRequest extends SecretPluginCall {
  readonly ID: string;
}
export interface ControllerListSnapshotsRequest extends SecretPluginCall {
  readonly MaxEntries: number;
  readonly StartingToken: string;
}
export interface ControllerListSnapshotsResponse {
  readonly Entries: readonly ExternalSnapshot[];
  readonly NextToken: string;
}

/** A volume on the machine that is asked, as Waybill names it, with the provider's name beside. */
interface NodeVolumeCall extends PluginCall {
  readonly VolumeID: string;
  readonly Namespace: string;
  readonly ExternalID: string;
  /** Whose use of it: decides where it is mounted (VL-246). */
  readonly Claim: CSIVolumeClaim;
}
export type NodeDetachVolumeRequest = NodeVolumeCall;
export interface NodeExpandVolumeRequest extends NodeVolumeCall {
  readonly MountOptions: MountOptions | null;
  readonly CapacityMin: number;
  readonly CapacityMax: number;
  readonly Secrets: StringMap | null;
}
export interface NodeExpandVolumeResponse {
  readonly CapacityBytes: number;
}

/**
 * To one machine that runs the plugin: the target is its node's id. Refusals carry `CSI.<Method>: ` before what the
 * plugin said (VL-133), and `CSI client error (retryable)` where another instance or another time may do (VL-252).
 */
export const csiControllerAttach = toPlugin<ControllerAttachVolumeRequest, ControllerAttachVolumeResponse>(
  'ControllerAttachVolume',
);
export const csiControllerDetach = toPlugin<ControllerDetachVolumeRequest, null>('ControllerDetachVolume');
export const csiControllerValidate = toPlugin<ControllerValidateVolumeRequest, null>('ControllerValidateVolume');
export const csiControllerCreate = toPlugin<ControllerCreateVolumeRequest, ControllerCreateVolumeResponse>(
  'ControllerCreateVolume',
);
export const csiControllerDelete = toPlugin<ControllerDeleteVolumeRequest, null>('ControllerDeleteVolume');
export const csiControllerExpand = toPlugin<ControllerExpandVolumeRequest, ControllerExpandVolumeResponse>(
  'ControllerExpandVolume',
);
export const csiControllerList = toPlugin<ControllerListVolumesRequest, ControllerListVolumesResponse>(
  'ControllerListVolumes',
);
export const csiControllerCreateSnapshot = toPlugin<ControllerCreateSnapshotRequest, ExternalSnapshot>(
  'ControllerCreateSnapshot',
);
export const csiControllerDeleteSnapshot = toPlugin<ControllerDeleteSnapshotRequest, null>('ControllerDeleteSnapshot');
export const csiControllerListSnapshots = toPlugin<ControllerListSnapshotsRequest, ControllerListSnapshotsResponse>(
  'ControllerListSnapshots',
);
export const csiNodeDetach = toPlugin<NodeDetachVolumeRequest, null>('NodeDetachVolume');
export const csiNodeExpand = toPlugin<NodeExpandVolumeRequest, NodeExpandVolumeResponse>('NodeExpandVolume');
