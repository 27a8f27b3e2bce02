import { type AskOptions, type Authority, type Call, EVERYBODY_CALLS, type Rpc } from '@waybill/rpc';

/**
 * Makes protected calls as the services do while access control is off: for everybody, or as the holder of the role that
 * the call asks for, in an epoch that no real holder has passed.
 */
export const admittedRpc = (rpc: Rpc): Rpc => ({
  ask: <Req, Res>(call: Call<Req, Res>, request: Req, options: AskOptions = {}) =>
    rpc.ask(call, request, { authority: authorityFor(call), ...options }),
});

export const HELD_EPOCH = 1_000_000;
export const HELD_BY = 'test';

function authorityFor({ fencedBy }: Pick<Call<unknown, unknown>, 'fencedBy'>): Authority {
  if (fencedBy === undefined) return { user: EVERYBODY_CALLS };
  return { fence: { Role: fencedBy, Epoch: HELD_EPOCH, Holder: HELD_BY } };
}
