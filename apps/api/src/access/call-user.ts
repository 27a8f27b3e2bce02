import { type CallUser, EVERYBODY_CALLS, type Rpc, UserRpc } from '@waybill/rpc';
import { type Caller, EVERYBODY } from './caller.js';

/** Returns the user of the calls that the API makes for a caller, without any secret (AU-258). */
export function callUserOf(caller: Caller): CallUser {
  if (caller === EVERYBODY) return EVERYBODY_CALLS;
  const { token, workload, rightsIndex: AtIndex } = caller;
  if (workload) return { Kind: 'workload', AllocID: workload.allocId, Task: workload.task ?? '', AtIndex };
  return token ? { Kind: 'token', AccessorID: token.AccessorID, AtIndex } : { Kind: 'anonymous', AtIndex };
}

/** Returns calls for the caller of a request. The process that answers them checks the rights again (OP-172). */
export const callsFor = (request: { readonly access: { readonly caller: Caller } }, rpc: Rpc): UserRpc =>
  new UserRpc(rpc, callUserOf(request.access.caller));
