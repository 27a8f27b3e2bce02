import type { Clock, Timers } from '@waybill/model';
import { forceGc, reached, type AskOptions, type Call, type Rpc, RpcUnavailableError } from '@waybill/rpc';

/** How long a request is held for a holder to appear and to answer (API-39). */
const ANSWER_WITHIN_MS = 5_000;
/** The shortest time in which an answer may be hoped for. */
const MIN_ASK_MS = 500;
const ASK_AGAIN_MS = 250;

/** What the API asks of the holder of the broker role. Between two holders it waits for the next. */
export class BrokerInquiry {
  constructor(
    private readonly rpc: Rpc,
    private readonly clock: Clock,
    private readonly timers: Timers,
  ) {}

  /**
   * Whether it hands out evaluations.
   * @param index what the holder must have applied, and obeys, before it answers
   * @throws RpcUnavailableError nobody holds the role, or the holder does not get that far
   */
  async enabledAt(index: number): Promise<boolean> {
    return (await this.ask(reached, { Index: index })).Enabled;
  }

  /** Has everything collected that may go; answered when it is on its way (EB-147). @throws RpcUnavailableError */
  async forceGc(): Promise<void> {
    await this.ask(forceGc, null);
  }

  /** Asks until somebody answers. Only for what may be asked twice. */
  private async ask<Req, Res>(call: Call<Req, Res>, request: Req): Promise<Res> {
    const until = this.clock.nowMs() + ANSWER_WITHIN_MS;
    for (;;) {
      try {
        const options: AskOptions = { timeoutMs: Math.max(MIN_ASK_MS, until - this.clock.nowMs()) };
        return await this.rpc.ask(call, request, options);
      } catch (error) {
        if (!(error instanceof RpcUnavailableError) || this.clock.nowMs() >= until) throw error;
      }
      await new Promise<void>((resolve) => void this.timers.after(ASK_AGAIN_MS, resolve));
    }
  }
}
