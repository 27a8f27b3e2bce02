import { type Clock, type Timers, pause } from '@waybill/model';
import { isNobodyThere, RpcUnavailableError, type AskOptions, type Call, type Rpc } from '@waybill/rpc';

/** How long a request is held for a holder of the role to appear (API-39). */
export const HELD_FOR_MS = 5_000;
const ASK_AGAIN_MS = 250;

/**
 * Asks holders of roles for users. Between two holders a request is held until the next one stands, HELD_FOR_MS at most;
 * then it asks again what nobody has taken. What may have been carried out is not asked twice: a lost answer is the
 * asker's to judge. Holds one timer per request that waits.
 */
export class HeldCalls implements Rpc {
  constructor(
    private readonly rpc: Rpc,
    private readonly clock: Clock,
    private readonly timers: Timers,
  ) {}

  /** @throws RpcError, RpcUnavailableError also when no holder appeared in time */
  async ask<Req, Res>(call: Call<Req, Res>, request: Req, options: AskOptions = {}): Promise<Res> {
    const until = this.clock.nowMs() + HELD_FOR_MS;
    // A clock that is set back holds nobody longer.
    for (let waits = 0; ; waits++) {
      try {
        return await this.rpc.ask(call, request, options);
      } catch (error) {
        if (call.role === undefined || !isNobodyThere(error)) throw error;
        if (this.clock.nowMs() >= until || waits * ASK_AGAIN_MS >= HELD_FOR_MS)
          throw new RpcUnavailableError(call.name, `no holder of ${call.role}`);
      }
      await pause(this.timers, ASK_AGAIN_MS);
    }
  }
}
