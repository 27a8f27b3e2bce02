import type { CallUser } from './authority.js';
import type { AskOptions, Call, Rpc } from './call.js';

/** The user of every call while access control is off (OP-110). */
export const EVERYBODY_CALLS: CallUser = { Kind: 'everybody' };

/** UserRpc makes calls for one user (AU-258). */
export class UserRpc implements Rpc {
  constructor(
    private readonly rpc: Rpc,
    readonly user: CallUser,
  ) {}

  ask<Req, Res>(call: Call<Req, Res>, request: Req, options: AskOptions = {}): Promise<Res> {
    return this.rpc.ask(call, request, { ...options, authority: { user: this.user } });
  }
}
