import type { Clock } from '@waybill/model';
import type { Metrics } from '@waybill/telemetry';

/** EvalRequest is a request about evaluations, by the contract's name (section 16 of the evaluations reference). */
export type EvalRequest = 'get_eval' | 'list' | 'count' | 'allocations' | 'delete';

/**
 * EvalTimers measures how long requests about evaluations take, as `nomad.eval.<request>`, in seconds. The time of a
 * blocking query includes its wait.
 */
export class EvalTimers {
  constructor(
    private readonly metrics: Metrics,
    private readonly clock: Clock,
  ) {}

  /** Runs the request and keeps its time, even if it fails. */
  async timed<T>(request: EvalRequest, run: () => Promise<T>): Promise<T> {
    const startedAt = this.clock.nowMs();
    try {
      return await run();
    } finally {
      const seconds = (this.clock.nowMs() - startedAt) / 1000;
      this.metrics.histogram(`nomad_eval_${request}`, `nomad.eval.${request}`).observe(seconds);
    }
  }
}
