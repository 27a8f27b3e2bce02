import { countOverNodes, type Clock, type Plan } from '@waybill/model';
import { StepLine } from '@waybill/state';

/** Characters of a worker's ID that are shown. */
const SHORT_ID = 8;

/**
 * The steps of a worker on one delivery and their durations by its own clock, from the moment it got the delivery
 * (CL-1065). They are sent with the worker's requests to the broker, each step once.
 */
export class WorkerSteps {
  private readonly line: StepLine;

  constructor(
    private readonly clock: Clock,
    workerId: string,
  ) {
    const now = clock.nowMs();
    this.line = new StepLine(now);
    this.line.add('taken', now, undefined, workerId.slice(0, SHORT_ID));
  }

  /** Records the wait of this copy of the state for the delivery's index. */
  addWait(index: number): void {
    this.line.add('waited', this.line.sinceMs, this.clock.nowMs(), index);
  }

  /** Records one scheduling pass. Times in unix ms. */
  addPass(fromMs: number, toMs: number, plan: Pick<Plan, 'NodeAllocation' | 'NodeUpdate'>): void {
    this.line.add('scheduled', fromMs, toMs, countOverNodes(plan.NodeAllocation), countOverNodes(plan.NodeUpdate));
  }

  /** Records the wait after a plan that was committed in part. @param wait for the index */
  async addRefresh(index: number, wait: Promise<void>): Promise<void> {
    const fromMs = this.clock.nowMs();
    await wait;
    this.line.add('refreshed', fromMs, this.clock.nowMs(), index);
  }

  /** Removes and returns the steps that were not sent yet. */
  takeUnsent(): string {
    return this.line.takeUnsent();
  }
}
