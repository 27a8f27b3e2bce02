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
import type {
  ControllerListSnapshotsRequest,
  ControllerListVolumesRequest,
  ExternalSnapshot,
  ExternalVolume,
} from './csi-calls.js';
import type { OnBehalfOf } from './deployments.js';

/** A claim is answered when the volume is attached, which the provider may take its time for; asking again is harmless. */
const CLAIM_TIMEOUT_MS = 3 * 60_000;

/** What an agent asks for an allocation of its own (VL-93). */
export interface AgentClaimRequest extends CSIVolumeClaimRequest {
  readonly SecretID: string;
}
export interface ClaimVolumeResponse {
  /** For stage and publish on the claim's machine (CW-20). */
  readonly PublishContext: Readonly<Record<string, string>>;
  /** With its secrets: this answer is the only place where they leave the servers (VL-4). */
  readonly Volume: CSIVolume;
}

const CLAIMED = { role: 'volumes', timeoutMs: CLAIM_TIMEOUT_MS, watched: true } as const;
const text = z.string();
const CLAIM: RequestMembers<AgentClaimRequest> = {
  SecretID: text,
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
/** The state says what the agent has done itself (VL-110). */
export const unpublishVolume = machineCall<AgentClaimRequest, IndexResponse>('volumes.unpublish', CLAIM, CLAIMED);

/** A provider may take minutes for each disk, and a plugin does one thing at a time (VL-129). */
const OPERATOR_TIMEOUT_MS = 10 * 60_000;

type StringMap = Readonly<Record<string, string>>;

interface OperatorRequest {
  readonly For: OnBehalfOf;
}
/** To register, or to create where they do not exist yet. */
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
  /** Override those of the volume by key (VL-57). */
  readonly Secrets: StringMap | null;
}
export interface DetachVolumeRequest extends OperatorRequest {
  readonly Namespace: string;
  readonly VolumeID: string;
  readonly NodeID: string;
}

/** A disk as it is to be kept. `null` among them is refused (VL-195). */
export interface SnapshotSpecification {
  /** Waybill's name of the volume. */
  readonly SourceVolumeID: string;
  /** "": that of the volume. */
  readonly PluginID: string;
  readonly Name: string;
  readonly Secrets: StringMap | null;
  readonly Parameters: StringMap | null;
}
export interface CreateSnapshotsRequest extends OperatorRequest {
  readonly Namespace: string;
  readonly Snapshots: readonly (SnapshotSpecification | null)[];
}
/** As the provider has it, and what it was made of where that is known. */
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
export const registerVolumes = call<WriteVolumesRequest, IndexResponse>('volumes.register', OPERATED);
export const createVolumes = call<WriteVolumesRequest, IndexResponse>('volumes.create', OPERATED);
export const deregisterVolumes = call<DeregisterVolumesRequest, IndexResponse>('volumes.deregister', OPERATED);
export const deleteVolumes = call<DeleteVolumesRequest, IndexResponse>('volumes.delete', OPERATED);
export const detachVolume = call<DetachVolumeRequest, IndexResponse>('volumes.detach', OPERATED);
/** Snapshots, and volumes that nobody registered, are the provider's: nothing is written (VL-197, VL-200). */
export const createSnapshots = call<CreateSnapshotsRequest, SnapshotsResponse>('volumes.createSnapshots', OPERATED);
export const deleteSnapshot = call<DeleteSnapshotRequest, null>('volumes.deleteSnapshot', OPERATED);
export const listSnapshots = call<ControllerListSnapshotsRequest, SnapshotsResponse>('volumes.listSnapshots', OPERATED);
export const listExternalVolumes = call<ControllerListVolumesRequest, ExternalVolumesResponse>(
  'volumes.listExternal',
  OPERATED,
);
