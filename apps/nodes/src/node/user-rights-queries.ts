import { isRefusal } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import { USER_CALLS_OF_AGENTS, type UserMayRequest, type UserMayResponse } from '@waybill/rpc';
import type { UserRights } from '@waybill/service';
import { catchUp } from '../allocations/catch-up.js';
import { permissionDenied, provenNode } from './node-access.js';

/**
 * Tells machines what the users of calls to them may do (OP-172). Any replica answers; stateless. A machine learns only
 * about itself and its own allocations.
 */
export class UserRightsQueries {
  constructor(
    private readonly state: ReplicatedState,
    private readonly rights: Pick<UserRights, 'admitUser'>,
  ) {}

  /** @throws Refusal forbidden if the machine asks about another; unavailable if this replica stays behind */
  async userMay(request: UserMayRequest): Promise<UserMayResponse> {
    await catchUp(this.state, request.MinStateIndex);
    const { tables } = this.state;
    const node = provenNode(tables, request.NodeID, request.SecretID);
    const call = USER_CALLS_OF_AGENTS.get(request.Call);
    if (!call) throw permissionDenied();
    // Without the allocation there would be nothing to protect here, but its files may still be on the machine.
    if (request.AllocID !== '' && tables.allocs.get(request.AllocID)?.NodeID !== node.ID) return { Allowed: false };
    try {
      await this.rights.admitUser(call, { AllocID: request.AllocID }, request.User);
      return { Allowed: true };
    } catch (error) {
      if (isRefusal(error, 'forbidden')) return { Allowed: false };
      throw error;
    }
  }
}
