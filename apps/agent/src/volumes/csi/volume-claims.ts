import type { CSIVolumeClaimRequest } from '@waybill/model';
import { claimVolume, type ClaimVolumeResponse, type Rpc, RpcUnavailableError, unpublishVolume } from '@waybill/rpc';

/** Where an allocation takes and gives back its right to a volume. */
export interface VolumeClaims {
  /** Asking again for what it has got is a success (VL-102). */
  claim(request: CSIVolumeClaimRequest): Promise<ClaimVolumeResponse>;
  unpublish(request: CSIVolumeClaimRequest): Promise<void>;
}

/** VL-226: what passes by itself, by its text, wherever it was said. */
const PASSING = ['volume max claims reached', 'CSI client error (retryable)', 'no servers', 'No cluster leader'];

/** VL-226. Nobody there to ask is what `No cluster leader` means. */
export function isPassing(error: unknown): boolean {
  if (error instanceof RpcUnavailableError) return true;
  return error instanceof Error && PASSING.some((text) => error.message.includes(text));
}

/** The servers' claims, asked with the machine's own identity. */
export function serversClaims(rpc: Rpc, identity: () => { readonly SecretID: string }): VolumeClaims {
  const own = (request: CSIVolumeClaimRequest) => ({ ...request, SecretID: identity().SecretID });
  return {
    claim: (request) => rpc.ask(claimVolume, own(request)),
    unpublish: async (request) => void (await rpc.ask(unpublishVolume, own(request))),
  };
}
