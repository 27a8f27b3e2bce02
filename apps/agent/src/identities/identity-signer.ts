import { type RejectedIdentity, type Rpc, signIdentities } from '@waybill/rpc';
import type { WantedIdentity } from './wanted-identities.js';

export interface SignedToken {
  readonly task: string;
  readonly identity: string;
  readonly jwt: string;
  /** From now on; null: it does not expire by itself. */
  readonly validMs: number | null;
}

/** Signs identities of an allocation in one request. @throws IdentitiesRejectedError, and what the call throws */
export type IdentitySigner = (
  allocId: string,
  minIndex: number,
  wanted: readonly Pick<WantedIdentity, 'task' | 'identity'>[],
) => Promise<readonly SignedToken[]>;

/** The servers refuse to sign some of the identities; all are named (AU-143). */
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

/** The servers as the signer, asked with the machine's own secret (AU-140). */
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
