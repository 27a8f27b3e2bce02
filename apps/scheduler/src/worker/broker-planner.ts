import type { Clock, Evaluation, Plan, PlanResult } from '@waybill/model';
import {
  createEval,
  isNobodyThere,
  finish,
  reap,
  reblockEval,
  submitPlan,
  updateEval,
  type Call,
  type DequeueResponse,
  type FinishRequest,
  type EvalUpdateRequest,
  type Reap,
  type Rpc,
} from '@waybill/rpc';
import { within } from './broker-terms.js';
import type { Planner } from './evaluation-run.js';
import { backoffMs, type StopSignal } from './stop-signal.js';
import { timed, type WorkerMeter } from './worker-meter.js';
import type { WorkerSteps } from './worker-steps.js';

/** Pauses between attempts while no process holds the role `broker` (EB-206). */
export const SUBMIT_BACKOFF_MS = { base: 500, limit: 10_000 };

/** The service stops while an evaluation is being worked on; the evaluation is nacked (EB-208). */
export class ShutdownError extends Error {
  override readonly name = 'ShutdownError';
  constructor() {
    super('shutdown while planning');
  }
}

/** The run whose requests a planner makes. */
export interface PlannedRun {
  readonly rpc: Rpc;
  /** Token of the delivery. */
  readonly token: string;
  readonly traceparent: () => string | undefined;
  readonly signal: StopSignal;
  /** Aborts when the term of the holder that made the delivery is over. */
  readonly term: AbortSignal;
  readonly measured: { readonly meter: WorkerMeter; readonly clock: Clock };
  /** Steps of the delivery; they are sent with the next request that causes a transaction. */
  readonly steps?: WorkerSteps | undefined;
}

/**
 * Makes a run's requests to the broker, with the token of its delivery; waits while there is no holder. When the term
 * of the holder that made the delivery is over, every request fails with HolderChangedError: no other holder knows the
 * token.
 */
export class BrokerPlanner implements Planner {
  constructor(private readonly run: PlannedRun) {}

  async submitPlan(plan: Plan): Promise<PlanResult> {
    const asking = { Plan: { ...plan, EvalToken: this.run.token }, Steps: this.run.steps?.takeUnsent() };
    const { Result } = await timed(this.run.measured, 'worker.submit_plan', () => this.request(submitPlan, asking));
    if (!Result) throw new Error('missing result'); // an answer without a result is an error (EB-207)
    return Result;
  }

  /**
   * Ends the run: the evaluation is written, and its delivery acked.
   *
   * @param next the worker that wants another delivery, and its scheduler types
   * @param onLate gets an answer that comes after the term: it may contain a delivery
   * @returns the next delivery, without an evaluation if none is ready
   */
  finish(
    evaluation: Evaluation,
    next: Pick<FinishRequest, 'NextOf' | 'Worker'>,
    onLate: (answer: DequeueResponse) => void,
  ): Promise<DequeueResponse> {
    const finished = { Eval: evaluation, Token: this.run.token, Steps: this.run.steps?.takeUnsent(), ...next };
    return timed(this.run.measured, 'worker.update_eval', () => this.request(finish, finished, onLate));
  }

  async updateEval(evaluation: Evaluation): Promise<void> {
    await timed(this.run.measured, 'worker.update_eval', () =>
      this.request(updateEval, { ...this.naming(evaluation), Steps: this.run.steps?.takeUnsent() }),
    );
  }

  async createEval(evaluation: Evaluation): Promise<void> {
    await timed(this.run.measured, 'worker.create_eval', () => this.request(createEval, this.naming(evaluation)));
  }

  async reblockEval(evaluation: Evaluation): Promise<void> {
    await timed(this.run.measured, 'worker.reblock_eval', () => this.request(reblockEval, this.naming(evaluation)));
  }

  /** Deletes the findings of a core evaluation (EB-152). @returns index of the transaction */
  async reap(evaluation: Evaluation, Reap: Reap, ScanIndex: number): Promise<number> {
    const asking = { EvalID: evaluation.ID, Token: this.run.token, Reap, ScanIndex };
    return (await this.request(reap, asking)).Index;
  }

  private naming(evaluation: Evaluation): EvalUpdateRequest {
    return { Evals: [evaluation], Token: this.run.token };
  }

  private async request<Req, Res>(call: Call<Req, Res>, request: Req, onLate?: (answer: Res) => void): Promise<Res> {
    for (let attempt = 0; ; attempt++) {
      if (this.run.signal.stopped) throw new ShutdownError();
      this.run.term.throwIfAborted();
      try {
        return await within(
          this.run.term,
          this.run.rpc.ask(call, request, { traceparent: this.run.traceparent() }),
          onLate,
        );
      } catch (error) {
        if (!isNobodyThere(error)) throw error;
        await this.run.signal.pause(backoffMs(attempt, SUBMIT_BACKOFF_MS.base, SUBMIT_BACKOFF_MS.limit), this.run.term);
      }
    }
  }
}
