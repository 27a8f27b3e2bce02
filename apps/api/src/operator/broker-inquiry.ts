import { forceGc, reached, type Rpc, type CallUser, UserRpc } from '@waybill/rpc';

/** BrokerInquiry has the API's questions to the holder of the broker role. */
export class BrokerInquiry {
  /** @param rpc calls that wait for a holder, as for a user (API-39) */
  constructor(private readonly rpc: Rpc) {}

  /**
   * Says whether the broker hands out evaluations.
   * @param index the index that the holder must have applied, and obeys, before it answers
   * @throws RpcUnavailableError if nobody holds the role, or the holder does not reach the index
   */
  async enabledAt(index: number): Promise<boolean> {
    return (await this.rpc.ask(reached, { Index: index })).Enabled;
  }

  /**
   * Starts a collection of everything that may be collected, and resolves when it has begun (EB-147). @throws
   * RpcUnavailableError
   */
  async forceGc(user: CallUser): Promise<void> {
    await new UserRpc(this.rpc, user).ask(forceGc, null);
  }
}
