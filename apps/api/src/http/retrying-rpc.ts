import { type Clock, type Timers, pause } from '@waybill/model';
import { isNobodyThere, RpcUnavailableError, type AskOptions, type Call, type Rpc } from '@waybill/rpc';

/** Longest wait of a request for a holder of the role (API-39). */
export const HOLDER_WAIT_MS = 5_000;
const RETRY_INTERVAL_MS = 250;

/**
 * Calls holders of roles for users. While a role has no holder, a call is retried for at most HOLDER_WAIT_MS, if certainly no
 * process received it. A call that may have been carried out is not retried: the user has to decide about a lost response.
 * Cost: one timer per waiting call.
 */
export class RetryingRpc implements Rpc {
  constructor(
    private readonly rpc: Rpc,
    private readonly clock: Clock,
    private readonly timers: Timers,
  ) {}

  /** @throws RpcError, and RpcUnavailableError also if no holder appeared in time */
  async ask<Req, Res>(call: Call<Req, Res>, request: Req, options: AskOptions = {}): Promise<Res> {
    const until = this.clock.nowMs() + HOLDER_WAIT_MS;
    // Counting the waits bounds them even if the clock is set back.
    for (let waits = 0; ; waits++) {
      try {
        return await this.rpc.ask(call, request, options);
      } catch (error) {
        if (call.role === undefined || !isNobodyThere(error)) throw error;
        if (this.clock.nowMs() >= until || waits * RETRY_INTERVAL_MS >= HOLDER_WAIT_MS)
          throw new RpcUnavailableError(call.name, `no holder of ${call.role}`);
      }
      await pause(this.timers, RETRY_INTERVAL_MS);
    }
  }
}
