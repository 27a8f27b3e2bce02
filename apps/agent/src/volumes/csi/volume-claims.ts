import { type CSIVolumeClaimRequest, Refusal, type RefusalCode } from '@waybill/model';
import { claimVolume, type ClaimVolumeResponse, type Rpc, RpcUnavailableError, unpublishVolume } from '@waybill/rpc';

/** VolumeClaims claims and unpublishes volumes for allocations. */
export interface VolumeClaims {
  /** Claims a volume. Repeating a successful claim is a success (VL-102). */
  claim(request: CSIVolumeClaimRequest): Promise<ClaimVolumeResponse>;
  unpublish(request: CSIVolumeClaimRequest): Promise<void>;
}

/** Codes of refusals that may not recur: the volume is full, a step failed temporarily, no server holds the role. */
const PASSING: ReadonlySet<RefusalCode> = new Set(['full', 'retryable', 'unavailable']);

/**
 * Says whether the agent claims again after this error (VL-226). Without an answer, there is no cluster leader at the
 * moment.
 */
export const isPassing = (error: unknown): boolean =>
  error instanceof RpcUnavailableError || (error instanceof Refusal && PASSING.has(error.code));

/** Returns the claims of the servers. Requests carry the machine's own identity. */
export function serversClaims(rpc: Rpc, identity: () => { readonly SecretID: string }): VolumeClaims {
  const own = (request: CSIVolumeClaimRequest) => ({ ...request, SecretID: identity().SecretID });
  return {
    claim: (request) => rpc.ask(claimVolume, own(request)),
    unpublish: async (request) => void (await rpc.ask(unpublishVolume, own(request))),
  };
}
