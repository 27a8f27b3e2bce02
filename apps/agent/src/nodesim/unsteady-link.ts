import type { Timers } from '@waybill/model';
import { type AskOptions, type Call, type Rpc, RpcUnavailableError } from '@waybill/rpc';

/** LinkCounts counts the requests of a fleet. */
export interface LinkCounts {
  asked: number;
  answered: number;
  refused: number;
  unanswered: number;
}

export const noCounts = (): LinkCounts => ({ asked: 0, answered: 0, refused: 0, unanswered: 0 });

export interface Unsteadiness {
  /** The longest delay of a request in milliseconds. */
  readonly latencyMs: number;
  /** The share of requests without an answer, in [0, 1]. */
  readonly loss: number;
}

export interface UnsteadyLinkDependencies {
  /** The connection to the servers. */
  readonly to: Rpc;
  readonly timers: Timers;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  readonly unsteadiness: Unsteadiness;
  readonly counts: LinkCounts;
}

/**
 * UnsteadyLink is the link of one simulated machine to the servers: slow, lossy, and at times cut off.
 *
 * States: whole ⇄ cut. While it is cut, nothing is sent, and arriving answers are lost. Half of the lost requests are
 * lost on the way there and half on the way back, so that the servers also execute requests that the machine believes
 * have failed.
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
    if (this.isCut || fate < loss / 2) throw this.lostMessageError(call.name);
    const answer = await this.answerOf(call, request, options);
    if (this.isCut || fate < loss) throw this.lostMessageError(call.name);
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

  private lostMessageError(call: string): RpcUnavailableError {
    this.deps.counts.unanswered++;
    return new RpcUnavailableError(call, 'lost by the simulation');
  }
}
