import type { Evaluation, Plan, PlanResult } from '@waybill/model';
import {
  createEval,
  reblockEval,
  RpcError,
  RpcUnavailableError,
  submitPlan,
  updateEval,
  type Call,
  type Rpc,
} from '@waybill/rpc';
import { within } from './broker-terms.js';
import type { Planner } from './evaluation-run.js';
import { backoffMs, type StopSignal } from './stop-signal.js';

/** Waits between tries while nobody holds the broker's role (EB-206). */
export const SUBMIT_BACKOFF_MS = { base: 500, limit: 10_000 };

/** The service ends while an evaluation is being worked on; it is nacked (EB-208). */
export class ShutdownError extends Error {
  override readonly name = 'ShutdownError';
  constructor() {
    super('shutdown while planning');
  }
}

/**
 * What a run asks of the broker, with the token of its delivery; waits while there is no holder. Once the term of the
 * holder that made the delivery is over, everything is refused with HolderChangedError: no other holder knows the token.
 */
export class BrokerPlanner implements Planner {
  constructor(
    private readonly rpc: Rpc,
    private readonly token: string,
    private readonly traceparent: () => string | undefined,
    private readonly signal: StopSignal,
    private readonly term: AbortSignal,
  ) {}

  async submitPlan(plan: Plan): Promise<PlanResult> {
    const { Result } = await this.ask(submitPlan, { Plan: { ...plan, EvalToken: this.token } });
    if (!Result) throw new Error('missing result'); // EB-207
    return Result;
  }

  async updateEval(evaluation: Evaluation): Promise<void> {
    await this.ask(updateEval, { Evals: [evaluation], Token: this.token });
  }

  async createEval(evaluation: Evaluation): Promise<void> {
    await this.ask(createEval, { Evals: [evaluation], Token: this.token });
  }

  async reblockEval(evaluation: Evaluation): Promise<void> {
    await this.ask(reblockEval, { Evals: [evaluation], Token: this.token });
  }

  private async ask<Req, Res>(call: Call<Req, Res>, request: Req): Promise<Res> {
    for (let attempt = 0; ; attempt++) {
      if (this.signal.stopped) throw new ShutdownError();
      this.term.throwIfAborted();
      try {
        return await within(this.term, this.rpc.ask(call, request, { traceparent: this.traceparent() }));
      } catch (error) {
        if (!isNobodyThere(error)) throw error;
        await this.signal.pause(backoffMs(attempt, SUBMIT_BACKOFF_MS.base, SUBMIT_BACKOFF_MS.limit), this.term);
      }
    }
  }
}

/** The request was certainly not carried out: nobody holds the role, or the holder does not take plans. */
export function isNobodyThere(error: unknown): boolean {
  if (error instanceof RpcUnavailableError) return error.reason === 'no responder';
  return error instanceof RpcError && error.code === 'unavailable';
}
