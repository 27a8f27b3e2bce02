import { reached, type Rpc, RpcError, RpcUnavailableError } from '@waybill/rpc';

/** The time in milliseconds within which a leader must answer. Load balancers ask again soon. */
const ANSWER_WITHIN_MS = 1_000;

/**
 * Leadership says whether the cluster has a leader. To its clients the cluster has one leader, the holder of the role
 * broker (API-238). Each question is sent to the holder, so that an expired lease does not count. It has no state.
 */
export class Leadership {
  constructor(private readonly rpc: Rpc) {}

  async isHeld(): Promise<boolean> {
    try {
      await this.rpc.ask(reached, { Index: 0 }, { timeoutMs: ANSWER_WITHIN_MS });
      return true;
    } catch (error) {
      if (error instanceof RpcError || error instanceof RpcUnavailableError) return false;
      throw error;
    }
  }
}
