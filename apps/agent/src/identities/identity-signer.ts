import { type RejectedIdentity, type Rpc, signIdentities } from '@waybill/rpc';
import type { WantedIdentity } from './wanted-identities.js';

export interface SignedToken {
  readonly task: string;
  readonly identity: string;
  readonly jwt: string;
  /** The remaining validity in milliseconds; null if the token does not expire. */
  readonly validMs: number | null;
}

/**
 * IdentitySigner signs identities of an allocation in one request.
 * @throws IdentitiesRejectedError, and the call's error
 */
export type IdentitySigner = (
  allocId: string,
  minIndex: number,
  wanted: readonly Pick<WantedIdentity, 'task' | 'identity'>[],
) => Promise<readonly SignedToken[]>;

/**
 * IdentitiesRejectedError says that the servers refuse to sign some of the identities. The message names all of them
 * (AU-143).
 */
export class IdentitiesRejectedError extends Error {
  override readonly name = 'IdentitiesRejectedError';
  constructor(rejected: readonly RejectedIdentity[]) {
    const all = rejected.map(
      ({ Workload, Identity, Reason }, at) =>
        `${at + 1}/${rejected.length} signing request was rejected: ${Reason} (task "${Workload}", identity "${Identity}")`,
    );
    super(all.join('; '));
  }
}

/** Returns the servers as the signer. Requests carry the machine's own secret (AU-140). */
export function serversSigner(
  rpc: Rpc,
  node: () => { readonly ID: string; readonly SecretID: string },
): IdentitySigner {
  return async (AllocID, MinStateIndex, wanted) => {
    const { ID: NodeID, SecretID } = node();
    const Identities = wanted.map(
      ({ task, identity }) => ({ AllocID, WorkloadType: 'task', Workload: task, Identity: identity }) as const,
    );
    const { Signed, Rejected } = await rpc.ask(signIdentities, { NodeID, SecretID, MinStateIndex, Identities });
    if (Rejected.length > 0) throw new IdentitiesRejectedError(Rejected);
    return Signed.map(({ Workload, Identity, JWT, ValidMs }) => ({
      task: Workload,
      identity: Identity,
      jwt: JWT,
      validMs: ValidMs,
    }));
  };
}
