import { reached, type Rpc, RpcError, RpcUnavailableError } from '@waybill/rpc';

/** A holder that does not answer for this long does not lead, ms: load balancers ask again soon. */
const ANSWER_WITHIN_MS = 1_000;

/**
 * Whether the cluster is led. To its clients it has one leader, whoever holds the role broker (API-238). The holder is
 * asked each time somebody wants to know, so that a lease that has just run out is not believed in. Holds nothing.
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
