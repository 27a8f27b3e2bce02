import { type Plan, type PlanResult, NotHolderError } from '@waybill/model';
import type { StepLine } from '@waybill/state';
import { Heap, type HeapElement } from '../queue/heap.js';

/** On what occasion a plan was submitted. */
export interface Submission {
  readonly traceparent: string | undefined;
  /** Unix ms. */
  readonly submittedMs: number;
  /** What is to be told of the delivery that it is for. */
  readonly steps: StepLine;
}

/** A plan that waits to be judged, and how its submitter is answered. */
export interface PendingPlan extends HeapElement {
  readonly plan: Plan;
  readonly submission: Submission | undefined;
  readonly arrival: number;
  readonly answer: (result: PlanResult) => void;
  readonly fail: (error: Error) => void;
}

/**
 * Plans waiting for the one applier: by priority, then by arrival (EB-234).
 *
 * Modes: disabled (refuses) ⇄ enabled; disabling answers everything that waits with an error (EB-236). Pausing the
 * evaluation broker does not touch it (EB-237). Its depth is bounded by the number of workers: each waits for its answer.
 * Cost: O(log n).
 */
export class PlanQueue {
  private enabled = false;
  private arrivals = 0;
  private heap = new Heap<PendingPlan>(before);
  private wake: (() => void) | undefined;

  get isEnabled(): boolean {
    return this.enabled;
  }

  get depth(): number {
    return this.heap.size;
  }

  setEnabled(enabled: boolean): void {
    if (enabled === this.enabled) return;
    this.enabled = enabled;
    const flushed = [...this.heap.values()];
    this.heap = new Heap<PendingPlan>(before);
    for (const pending of flushed) pending.fail(new NotHolderError('plan queue flushed'));
    this.wake?.();
  }

  /** @throws NotHolderError, and what the applier fails with */
  submit(plan: Plan, submission?: Submission): Promise<PlanResult> {
    if (!this.enabled) return Promise.reject(new NotHolderError('plan queue is disabled'));
    return new Promise((answer, fail) => {
      this.heap.push({ plan, submission, arrival: this.arrivals++, answer, fail, heapAt: -1 });
      this.wake?.();
    });
  }

  /** The next plan, waiting for one if need be; undefined once the queue is disabled. */
  async take(): Promise<PendingPlan | undefined> {
    while (this.enabled) {
      const next = this.heap.pop();
      if (next) return next;
      await new Promise<void>((resolve) => (this.wake = resolve));
      this.wake = undefined;
    }
    return undefined;
  }
}

function before(a: PendingPlan, b: PendingPlan): boolean {
  return a.plan.Priority !== b.plan.Priority ? a.plan.Priority > b.plan.Priority : a.arrival < b.arrival;
}
