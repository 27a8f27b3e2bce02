import { type IdentityRequest, type RejectedIdentity, type Rpc, signIdentities } from '@waybill/rpc';
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
  wanted: readonly Pick<WantedIdentity, 'task' | 'identity' | 'service'>[],
) => Promise<readonly SignedToken[]>;

/**
 * IdentitiesRejectedError says that the servers refuse to sign some of the identities. The message names all of them
 * (AU-143).
 */
export class IdentitiesRejectedError extends Error {
  override readonly name = 'IdentitiesRejectedError';
  constructor(rejected: readonly RejectedIdentity[]) {
    const all = rejected.map(
      ({ WorkloadType, Workload, Identity, Reason }, at) =>
        `${at + 1}/${rejected.length} signing request was rejected: ${Reason} (${WorkloadType} "${Workload}", identity "${Identity}")`,
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
    const Identities = wanted.map((one) => requestOf(AllocID, one));
    const { Signed, Rejected } = await rpc.ask(signIdentities, { NodeID, SecretID, MinStateIndex, Identities });
    if (Rejected.length > 0) throw new IdentitiesRejectedError(Rejected);
    const signed = new Map(Signed.map((one) => [keyOf(one), one]));
    return wanted.flatMap(({ task, identity }, at) => {
      const request = Identities[at];
      const found = request && signed.get(keyOf(request));
      return found ? [{ task, identity, jwt: found.JWT, validMs: found.ValidMs }] : [];
    });
  };
}

const requestOf = (
  AllocID: string,
  { task, identity, service }: Pick<WantedIdentity, 'task' | 'identity' | 'service'>,
): IdentityRequest =>
  service
    ? {
        AllocID,
        WorkloadType: 'service',
        Workload: service.written,
        InterpolatedName: service.name,
        Identity: service.identity,
      }
    : { AllocID, WorkloadType: 'task', Workload: task, Identity: identity };

/** Returns the key of a request. It is unique, because no name contains NUL. */
const keyOf = ({ WorkloadType, Workload, Identity }: IdentityRequest): string =>
  [WorkloadType, Workload, Identity].join('\0');
