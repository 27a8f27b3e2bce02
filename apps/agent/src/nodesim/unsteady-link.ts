import type { Timers } from '@waybill/model';
import { type AskOptions, type Call, type Rpc, RpcUnavailableError } from '@waybill/rpc';

/** What is counted of all requests of a fleet. */
export interface LinkCounts {
  asked: number;
  answered: number;
  refused: number;
  unanswered: number;
}

export const noCounts = (): LinkCounts => ({ asked: 0, answered: 0, refused: 0, unanswered: 0 });

export interface Unsteadiness {
  /** Longest delay of a request, ms. */
  readonly latencyMs: number;
  /** Part of the requests that get no answer, in [0, 1]. */
  readonly loss: number;
}

export interface UnsteadyLinkDependencies {
  /** The servers. */
  readonly to: Rpc;
  readonly timers: Timers;
  /** In [0, 1). */
  readonly random: () => number;
  readonly unsteadiness: Unsteadiness;
  readonly counts: LinkCounts;
}

/**
 * The way of one simulated machine to the servers: late, lossy, and at times cut off.
 *
 * whole ⇄ cut. While it is cut, nothing is sent, and answers that arrive are lost. Half of the lost requests are lost
 * on the way there and half on the way back, so that the servers do what the asker believes has failed.
 */
export class UnsteadyLink implements Rpc {
  isCut = false;

  constructor(private readonly deps: UnsteadyLinkDependencies) {}

  async ask<Req, Res>(call: Call<Req, Res>, request: Req, options?: AskOptions): Promise<Res> {
    const { latencyMs, loss } = this.deps.unsteadiness;
    this.deps.counts.asked++;
    if (latencyMs > 0)
      await new Promise<void>((done) => void this.deps.timers.after(this.deps.random() * latencyMs, done));
    const fate = this.deps.random();
    if (this.isCut || fate < loss / 2) throw this.lost(call.name);
    const answer = await this.answerOf(call, request, options);
    if (this.isCut || fate < loss) throw this.lost(call.name);
    this.deps.counts.answered++;
    return answer;
  }

  private async answerOf<Req, Res>(call: Call<Req, Res>, request: Req, options?: AskOptions): Promise<Res> {
    try {
      return await this.deps.to.ask(call, request, options);
    } catch (error) {
      if (error instanceof RpcUnavailableError) this.deps.counts.unanswered++;
      else this.deps.counts.refused++;
      throw error;
    }
  }

  private lost(call: string): RpcUnavailableError {
    this.deps.counts.unanswered++;
    return new RpcUnavailableError(call, 'lost by the simulation');
  }
}
