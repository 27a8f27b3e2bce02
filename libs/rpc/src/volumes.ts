import {
  CLAIM_MODE,
  CLAIM_STATE,
  type CSIVolume,
  type CSIVolumeClaimRequest,
  type CSIVolumeSpecification,
} from '@waybill/model';
import type { IndexResponse } from './broker.js';
import { call, machineCall, type RequestMembers } from './call.js';
import { z } from 'zod';
import { machineCredential } from './machine-credential.js';
import { andPluginRead, anyIn, needsInNamespace, needsSomewhere } from './user-needs.js';
import type {
  ControllerListSnapshotsRequest,
  ControllerListVolumesRequest,
  ExternalSnapshot,
  ExternalVolume,
} from './csi-calls.js';
import type { OnBehalfOf } from './deployments.js';

/** A claim returns when the volume is attached, which may take long at the provider. Repeating the call is harmless. */
const CLAIM_TIMEOUT_MS = 3 * 60_000;

/** An agent's claim for one of its own allocations (VL-93). */
export interface AgentClaimRequest extends CSIVolumeClaimRequest {
  readonly SecretID: string;
}
export interface ClaimVolumeResponse {
  /** Context for stage and publish on the claim's machine (CW-20). */
  readonly PublishContext: Readonly<Record<string, string>>;
  /** The volume with its secrets. Only in this response do they leave the servers (VL-4). */
  readonly Volume: CSIVolume;
}

const CLAIMED = { role: 'volumes', timeoutMs: CLAIM_TIMEOUT_MS, watched: true } as const;
const text = z.string();
const CLAIM: RequestMembers<AgentClaimRequest> = {
  SecretID: machineCredential,
  VolumeID: text,
  AllocationID: text,
  NodeID: text,
  ExternalNodeID: text,
  Claim: z.literal(Object.values(CLAIM_MODE)),
  AccessMode: text,
  AttachmentMode: text,
  State: z.literal(Object.values(CLAIM_STATE)),
  Timestamp: z.number(),
  Namespace: text,
  Region: text,
};
export const claimVolume = machineCall<AgentClaimRequest, ClaimVolumeResponse>('volumes.claim', CLAIM, CLAIMED);
/** The state of the claim tells which steps the agent has done itself (VL-110). */
export const unpublishVolume = machineCall<AgentClaimRequest, IndexResponse>('volumes.unpublish', CLAIM, CLAIMED);

/** A provider may take minutes for each disk, and a plugin executes one call at a time (VL-129). */
const OPERATOR_TIMEOUT_MS = 10 * 60_000;

type StringMap = Readonly<Record<string, string>>;

interface OperatorRequest {
  readonly For: OnBehalfOf;
}
/** Registers volumes, or creates those that do not exist yet. */
export interface WriteVolumesRequest extends OperatorRequest {
  readonly Volumes: readonly CSIVolumeSpecification[];
}
interface NamedVolumesRequest extends OperatorRequest {
  readonly Namespace: string;
  readonly VolumeIDs: readonly string[];
}
export interface DeregisterVolumesRequest extends NamedVolumesRequest {
  readonly Force: boolean;
}
export interface DeleteVolumesRequest extends NamedVolumesRequest {
  /** Override the volume's secrets by key (VL-57). */
  readonly Secrets: StringMap | null;
}
export interface DetachVolumeRequest extends OperatorRequest {
  readonly Namespace: string;
  readonly VolumeID: string;
  readonly NodeID: string;
}

/** A requested snapshot. `null` in the list is refused (VL-195). */
export interface SnapshotSpecification {
  /** Waybill's name of the volume. */
  readonly SourceVolumeID: string;
  /** Empty for the volume's plugin. */
  readonly PluginID: string;
  readonly Name: string;
  readonly Secrets: StringMap | null;
  readonly Parameters: StringMap | null;
}
export interface CreateSnapshotsRequest extends OperatorRequest {
  readonly Namespace: string;
  readonly Snapshots: readonly (SnapshotSpecification | null)[];
}
/** A snapshot in the provider's description, with its source volume if that is known. */
export interface Snapshot extends ExternalSnapshot {
  readonly SourceVolumeID: string;
  readonly PluginID: string;
}
export interface SnapshotsResponse {
  readonly Snapshots: readonly Snapshot[];
  readonly NextToken: string;
}
export interface DeleteSnapshotRequest extends OperatorRequest {
  readonly PluginID: string;
  readonly SnapshotID: string;
  readonly Secrets: StringMap | null;
}
export interface ExternalVolumesResponse {
  readonly Volumes: readonly ExternalVolume[];
  readonly NextToken: string;
}

const OPERATED = { role: 'volumes', timeoutMs: OPERATOR_TIMEOUT_MS, watched: true } as const;

const writesEach = ({ Volumes }: WriteVolumesRequest) =>
  anyIn(
    Volumes.map(({ Namespace }) => Namespace),
    ['csi-write-volume'],
  );
const lists = needsSomewhere('csi-list-volume', 'csi-read-volume', 'csi-mount-volume', 'list-jobs');

export const registerVolumes = call<WriteVolumesRequest, IndexResponse>('volumes.register', {
  ...OPERATED,
  userNeeds: andPluginRead(writesEach),
});
export const createVolumes = call<WriteVolumesRequest, IndexResponse>('volumes.create', {
  ...OPERATED,
  userNeeds: andPluginRead(writesEach),
});
export const deregisterVolumes = call<DeregisterVolumesRequest, IndexResponse>('volumes.deregister', {
  ...OPERATED,
  userNeeds: needsInNamespace('csi-write-volume'),
});
export const deleteVolumes = call<DeleteVolumesRequest, IndexResponse>('volumes.delete', {
  ...OPERATED,
  userNeeds: andPluginRead(needsInNamespace('csi-write-volume')),
});
export const detachVolume = call<DetachVolumeRequest, IndexResponse>('volumes.detach', {
  ...OPERATED,
  userNeeds: andPluginRead(needsInNamespace('csi-mount-volume')),
});
export const createSnapshots = call<CreateSnapshotsRequest, SnapshotsResponse>('volumes.createSnapshots', {
  ...OPERATED,
  userNeeds: andPluginRead(needsInNamespace('csi-write-volume')),
});
export const deleteSnapshot = call<DeleteSnapshotRequest, null>('volumes.deleteSnapshot', {
  ...OPERATED,
  userNeeds: andPluginRead(needsSomewhere('csi-write-volume')),
});
export const listSnapshots = call<ControllerListSnapshotsRequest, SnapshotsResponse>('volumes.listSnapshots', {
  ...OPERATED,
  userNeeds: lists,
});
export const listExternalVolumes = call<ControllerListVolumesRequest, ExternalVolumesResponse>('volumes.listExternal', {
  ...OPERATED,
  userNeeds: lists,
});
