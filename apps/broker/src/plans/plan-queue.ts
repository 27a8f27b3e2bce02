import { type Plan, type PlanResult, NotHolderError } from '@waybill/model';
import type { StepLine } from '@waybill/state';
import { Heap, type HeapElement, NOT_IN_HEAP } from '../queue/heap.js';

/** The circumstances in which a plan was submitted. */
export interface Submission {
  readonly traceparent: string | undefined;
  /** Unix ms. */
  readonly submittedMs: number;
  /** Steps of the delivery that the plan belongs to. */
  readonly steps: StepLine;
}

/** A plan that waits for the applier, with the callbacks that answer its submitter. */
export interface PendingPlan extends HeapElement {
  readonly plan: Plan;
  readonly submission: Submission | undefined;
  readonly arrival: number;
  readonly answer: (result: PlanResult) => void;
  readonly fail: (error: Error) => void;
}

/**
 * The plans that wait for the applier, by priority and then by arrival (EB-234).
 *
 * Modes: disabled (refuses plans) ⇄ enabled; disabling answers every waiting plan with an error (EB-236). Pausing the
 * evaluation broker does not affect it (EB-237). Limit: the number of workers, because each waits for the answer to its plan.
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

  /** Resolves when the plan is applied. @throws NotHolderError, and any error of the applier */
  submit(plan: Plan, submission?: Submission): Promise<PlanResult> {
    if (!this.enabled) return Promise.reject(new NotHolderError('plan queue is disabled'));
    return new Promise((answer, fail) => {
      this.heap.push({ plan, submission, arrival: this.arrivals++, answer, fail, heapAt: NOT_IN_HEAP });
      this.wake?.();
    });
  }

  /** Removes and returns the next plan, and waits for one if there is none; undefined once the queue is disabled. */
  async dequeue(): Promise<PendingPlan | undefined> {
    while (this.enabled) {
      const next = this.heap.pop();
      if (next) return next;
      await new Promise<void>((resolve) => (this.wake = resolve));
    }
    return undefined;
  }
}

function before(a: PendingPlan, b: PendingPlan): boolean {
  const [ofA, ofB] = [a.plan.Priority, b.plan.Priority];
  return ofA > ofB || (ofA === ofB && a.arrival < b.arrival);
}
