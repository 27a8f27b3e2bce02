/**
 * Mode of a claim, with the numbers of the wire (2.3). `gc` does not use the volume. It only requests a check of it.
 */
export const CLAIM_MODE = { read: 0, write: 1, gc: 2 } as const;
export type ClaimMode = (typeof CLAIM_MODE)[keyof typeof CLAIM_MODE];

/** Progress of a claim that is being released. The order of the numbers is not that of the workflow (2.3). */
export const CLAIM_STATE = {
  taken: 0,
  nodeDetached: 1,
  controllerDetached: 2,
  readyToFree: 3,
  unpublishing: 4,
} as const;
export type ClaimState = (typeof CLAIM_STATE)[keyof typeof CLAIM_STATE];

/** An allocation's right to use a volume, or a step of releasing it. */
export interface CSIVolumeClaim {
  /** Empty if the claim only wakes the watcher of the volume (VL-90). */
  AllocationID: string;
  NodeID: string;
  /** The provider's name of the node. Empty if it is unknown. */
  ExternalNodeID: string;
  Mode: ClaimMode;
  AccessMode: string;
  AttachmentMode: string;
  State: ClaimState;
  /**
   * Index of the transaction that stored the claim. Absent in claims from before claims of one allocation were
   * distinguished (VL-308).
   */
  TakenIndex?: number;
}

/** A claim that does not use the volume and only requests a check of it (VL-90). */
export const LOOK_AT_VOLUME: CSIVolumeClaim = {
  AllocationID: '',
  NodeID: '',
  ExternalNodeID: '',
  Mode: CLAIM_MODE.gc,
  AccessMode: '',
  AttachmentMode: '',
  State: CLAIM_STATE.unpublishing,
};

/** An agent's request to the volumes service, before and after its tasks (2.3). */
export interface CSIVolumeClaimRequest {
  VolumeID: string;
  AllocationID: string;
  NodeID: string;
  ExternalNodeID: string;
  Claim: ClaimMode;
  AccessMode: string;
  AttachmentMode: string;
  State: ClaimState;
  /** In unix ns. */
  Timestamp: number;
  Namespace: string;
  Region: string;
}

/** Returns the claim that a request makes. */
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
