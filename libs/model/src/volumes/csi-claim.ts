/** What a claim is for; the numbers are the wire's (2.3). `gc`: not a use, only a sign to look at the volume. */
export const CLAIM_MODE = { read: 0, write: 1, gc: 2 } as const;
export type ClaimMode = (typeof CLAIM_MODE)[keyof typeof CLAIM_MODE];

/** How far a claim is on its way out; the order of the numbers is not that of the workflow (2.3). */
export const CLAIM_STATE = {
  taken: 0,
  nodeDetached: 1,
  controllerDetached: 2,
  readyToFree: 3,
  unpublishing: 4,
} as const;
export type ClaimState = (typeof CLAIM_STATE)[keyof typeof CLAIM_STATE];

/** An allocation's right to use a volume, or a step of giving it back. */
export interface CSIVolumeClaim {
  /** "" when it only wakes whoever watches the volume (VL-90). */
  AllocationID: string;
  NodeID: string;
  /** The provider's name of the node; "" when not known. */
  ExternalNodeID: string;
  Mode: ClaimMode;
  AccessMode: string;
  AttachmentMode: string;
  State: ClaimState;
  /** Of a stored claim: when it was taken; absent: before claims of one allocation were told apart (VL-308). */
  TakenIndex?: number;
}

/** VL-90: no use of a volume, only a sign to look at it. */
export const LOOK_AT_VOLUME: CSIVolumeClaim = {
  AllocationID: '',
  NodeID: '',
  ExternalNodeID: '',
  Mode: CLAIM_MODE.gc,
  AccessMode: '',
  AttachmentMode: '',
  State: CLAIM_STATE.unpublishing,
};

/** What an agent asks of the volumes service before and after its tasks (2.3). */
export interface CSIVolumeClaimRequest {
  VolumeID: string;
  AllocationID: string;
  NodeID: string;
  ExternalNodeID: string;
  Claim: ClaimMode;
  AccessMode: string;
  AttachmentMode: string;
  State: ClaimState;
  /** unix ns */
  Timestamp: number;
  Namespace: string;
  Region: string;
}

/** The claim that a request makes. */
export function claimOf(request: CSIVolumeClaimRequest): CSIVolumeClaim {
  return {
    AllocationID: request.AllocationID,
    NodeID: request.NodeID,
    ExternalNodeID: request.ExternalNodeID,
    Mode: request.Claim,
    AccessMode: request.AccessMode,
    AttachmentMode: request.AttachmentMode,
    State: request.State,
  };
}
