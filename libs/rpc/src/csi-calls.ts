import type { CSIVolumeClaim, MountOptions, Topology, TopologyRequest, VolumeCapability } from '@waybill/model';
import { type Call, call } from './call.js';

/** A plugin may take 2 minutes for a call (VL-249), and may have to finish another one before. */
const CSI_CALL_TIMEOUT_MS = 5 * 60_000;
/**
 * Servers send a plugin one changing call at a time (VL-129). This limit bounds the work of a machine with many
 * plugins.
 */
const MAX_CSI_CALLS_IN_PROGRESS = 256;

const toPlugin = <Req, Res>(method: string) =>
  call<Req, Res>(`agent.csi${method}`, {
    timeoutMs: CSI_CALL_TIMEOUT_MS,
    maxInProgress: MAX_CSI_CALLS_IN_PROGRESS,
    watched: true,
    fencedBy: 'volumes',
  });

type StringMap = Readonly<Record<string, string>>;

/** Volumes and machines have the provider's names. Sizes are in bytes, 0 for no bound. */
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
/** Refused if the plugin confirms something else (VL-20). */
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
  /** Null if the volume has no claim (VL-48). */
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
/** A volume in the provider's description (2.6). */
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
/** `CreateTime` is in unix seconds. */
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

/** A volume on the called machine. It has Waybill's name and the provider's. */
interface NodeVolumeCall extends PluginCall {
  readonly VolumeID: string;
  readonly Namespace: string;
  readonly ExternalID: string;
  /** The claim, which determines where the volume is mounted (VL-246). */
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

/** One call to a storage plugin through a machine that runs it. The target is the machine's node ID. */
export interface CsiCall<Req, Res> {
  readonly call: Call<Req, Res>;
  /** The machine prefixes the plugin's refusal with `CSI.<method>: ` (VL-133). */
  readonly method: string;
  /** The servers put this prefix in front of it. */
  readonly prefix: string;
  /** Whether the call changes the provider's state, so that each plugin gets only one at a time (VL-129, VL-130). */
  readonly inTurn: boolean;
}

/** The handlers for all calls of a table. */
export type CsiAnswers<Table> = {
  readonly [K in keyof Table]: Table[K] extends CsiCall<infer Req, infer Res> ? (request: Req) => Promise<Res> : never;
};

const controller =
  (inTurn: boolean) =>
  <Req, Res>(method: string, doing: string): CsiCall<Req, Res> => ({
    call: toPlugin(`Controller${method}`),
    method: `Controller${method}`,
    prefix: `controller ${doing}: `,
    inTurn,
  });
const changing = controller(true);
const besideOthers = controller(false);
const node = <Req, Res>(method: string): CsiCall<Req, Res> => ({
  call: toPlugin(`Node${method}`),
  method: `Node${method}`,
  prefix: `CSI.Node${method} error: `,
  inTurn: false,
});

/**
 * All calls to controllers. `CSI client error (retryable)` in a refusal: another instance, or a later attempt, may
 * succeed (VL-252).
 */
export const CSI_CONTROLLER = {
  attach: changing<ControllerAttachVolumeRequest, ControllerAttachVolumeResponse>('AttachVolume', 'attach volume'),
  detach: changing<ControllerDetachVolumeRequest, null>('DetachVolume', 'detach volume'),
  validate: besideOthers<ControllerValidateVolumeRequest, null>('ValidateVolume', 'validate volume'),
  create: besideOthers<ControllerCreateVolumeRequest, ControllerCreateVolumeResponse>('CreateVolume', 'create volume'),
  expand: changing<ControllerExpandVolumeRequest, ControllerExpandVolumeResponse>('ExpandVolume', 'expand volume'),
  delete: changing<ControllerDeleteVolumeRequest, null>('DeleteVolume', 'delete volume'),
  list: besideOthers<ControllerListVolumesRequest, ControllerListVolumesResponse>('ListVolumes', 'list volumes'),
  createSnapshot: changing<ControllerCreateSnapshotRequest, ExternalSnapshot>('CreateSnapshot', 'create snapshot'),
  deleteSnapshot: changing<ControllerDeleteSnapshotRequest, null>('DeleteSnapshot', 'delete snapshot'),
  listSnapshots: besideOthers<ControllerListSnapshotsRequest, ControllerListSnapshotsResponse>(
    'ListSnapshots',
    'list snapshots',
  ),
} as const;

/** All calls to the machine that mounts a volume. */
export const CSI_NODE = {
  detach: node<NodeDetachVolumeRequest, null>('DetachVolume'),
  expand: node<NodeExpandVolumeRequest, NodeExpandVolumeResponse>('ExpandVolume'),
} as const;
