import { type CSIVolumeClaimRequest, Refusal, type RefusalCode } from '@waybill/model';
import { claimVolume, type ClaimVolumeResponse, type Rpc, RpcUnavailableError, unpublishVolume } from '@waybill/rpc';

/** Where an allocation takes and gives back its right to a volume. */
export interface VolumeClaims {
  /** Asking again for what it has got is a success (VL-102). */
  claim(request: CSIVolumeClaimRequest): Promise<ClaimVolumeResponse>;
  unpublish(request: CSIVolumeClaimRequest): Promise<void>;
}

/** Codes of refusals that another claim may not meet: the volume is full, a step failed for now, nobody holds the role. */
const PASSING: ReadonlySet<RefusalCode> = new Set(['full', 'retryable', 'unavailable']);

/** Whether the agent claims again after this error (VL-226). Without an answer, there is no cluster leader for now. */
export const isPassing = (error: unknown): boolean =>
  error instanceof RpcUnavailableError || (error instanceof Refusal && PASSING.has(error.code));

/** The servers' claims, asked with the machine's own identity. */
export function serversClaims(rpc: Rpc, identity: () => { readonly SecretID: string }): VolumeClaims {
  const own = (request: CSIVolumeClaimRequest) => ({ ...request, SecretID: identity().SecretID });
  return {
    claim: (request) => rpc.ask(claimVolume, own(request)),
    unpublish: async (request) => void (await rpc.ask(unpublishVolume, own(request))),
  };
}
