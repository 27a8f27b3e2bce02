import type { Clock } from '@waybill/model';
import type { Histogram, Metrics } from '@waybill/telemetry';

/**
 * Timers of a worker, by the contract's names (section 16 of the evaluations reference). The update that ends a
 * delivery is one call with the ack, and counts as `update_eval`; `send_ack` counts acks of their own.
 */
export type WorkerTimer =
  | 'worker.dequeue_eval'
  | 'worker.wait_for_index'
  | 'worker.submit_plan'
  | 'worker.create_eval'
  | 'worker.update_eval'
  | 'worker.reblock_eval'
  | 'worker.send_ack';

/** Receives a worker's measurements, in milliseconds. Code that measures depends on this interface only. */
export interface WorkerMeter {
  observe(timer: WorkerTimer, ms: number): void;
  /** Records one pass of a scheduler. @param type of the evaluation, or `_core` */
  invoked(type: string, ms: number): void;
}

export const noWorkerMeter: WorkerMeter = { observe: () => {}, invoked: () => {} };

/** The timers of all workers of a process, in seconds. They are few: their only label is the scheduler's type. */
export class ContractWorkerMeter implements WorkerMeter {
  /** Created at their first observation, so that only timers with samples are shown. */
  private readonly histograms = new Map<WorkerTimer | 'worker.invoke_scheduler', Histogram>();

  constructor(private readonly metrics: Metrics) {}

  observe(timer: WorkerTimer, ms: number): void {
    const histogram = this.histograms.get(timer) ?? this.begin(timer, `nomad.${timer}`, []);
    histogram.observe(ms / 1000);
  }

  invoked(type: string, ms: number): void {
    const timer = 'worker.invoke_scheduler';
    const histogram = this.histograms.get(timer) ?? this.begin(timer, `nomad.${timer}.<type>`, ['type']);
    histogram.observe({ type }, ms / 1000);
  }

  private begin(timer: WorkerTimer | 'worker.invoke_scheduler', help: string, labels: string[]): Histogram {
    const histogram = this.metrics.histogram(`nomad_${timer.replaceAll('.', '_')}`, help, labels);
    this.histograms.set(timer, histogram);
    return histogram;
  }
}

/** Gives the time that the call takes to the meter, also if it fails. */
export async function timed<T>(
  { meter, clock }: { readonly meter: WorkerMeter; readonly clock: Clock },
  timer: WorkerTimer,
  run: () => Promise<T>,
): Promise<T> {
  const startedAt = clock.nowMs();
  try {
    return await run();
  } finally {
    meter.observe(timer, clock.nowMs() - startedAt);
  }
}
