import type { CSIVolume, CSIVolumeClaimRequest } from '@waybill/model';
import { call } from './call.js';
import type { IndexResponse } from './broker.js';

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

export const claimVolume = call<AgentClaimRequest, ClaimVolumeResponse>('volumes.claim', {
  role: 'volumes',
  timeoutMs: CLAIM_TIMEOUT_MS,
});
/** The state says what the agent has done itself (VL-110). */
export const unpublishVolume = call<AgentClaimRequest, IndexResponse>('volumes.unpublish', {
  role: 'volumes',
  timeoutMs: CLAIM_TIMEOUT_MS,
});
