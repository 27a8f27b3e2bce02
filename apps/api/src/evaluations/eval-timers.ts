import type { Clock } from '@waybill/model';
import type { Metrics } from '@waybill/telemetry';

/** Requests about evaluations, by the contract's names (section 16 of the evaluations reference). */
export type EvalRequest = 'get_eval' | 'list' | 'count' | 'allocations' | 'delete';

/** How long requests about evaluations take, `nomad.eval.<request>`, in seconds; of a blocking query, its wait too. */
export class EvalTimers {
  constructor(
    private readonly metrics: Metrics,
    private readonly clock: Clock,
  ) {}

  /** Runs it and keeps its time, also if it fails. */
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
