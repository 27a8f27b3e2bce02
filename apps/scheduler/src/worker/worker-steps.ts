import { countOverNodes, type Clock, type Plan } from '@waybill/model';
import { StepLine } from '@waybill/state';

/** Of a worker's id, as ids are shown. */
const SHORT_ID = 8;

/**
 * What a worker did with one delivery and how long it took, by its own clock, from the moment it got it on (CL-1065). It
 * goes with what the worker asks of the broker anyway, each step once.
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

  /** For its copy of the state to have what the delivery needs. */
  waited(index: number): void {
    this.line.add('waited', this.line.sinceMs, this.clock.nowMs(), index);
  }

  /** One pass. Times: unix ms. */
  scheduled(fromMs: number, toMs: number, plan: Pick<Plan, 'NodeAllocation' | 'NodeUpdate'>): void {
    this.line.add('scheduled', fromMs, toMs, countOverNodes(plan.NodeAllocation), countOverNodes(plan.NodeUpdate));
  }

  /** After a plan that was committed in part. @param wait for the index */
  async refreshed(index: number, wait: Promise<void>): Promise<void> {
    const fromMs = this.clock.nowMs();
    await wait;
    this.line.add('refreshed', fromMs, this.clock.nowMs(), index);
  }

  /** What nobody has been told. */
  take(): string {
    return this.line.take();
  }
}
