import { type Allocation, type Clock, newEvaluation, NO_TRANSITION, nsFromMs } from '@waybill/model';
import { draftTxn, type Proposer } from '@waybill/state';
import { notFound } from '../http/api-error.js';
import type { Requester } from '../http/requester.js';
import { acceptedOrThrow } from '../writer.js';

export interface StopAllocationOptions {
  readonly id: string;
  readonly noShutdownDelay: boolean;
  readonly reschedule: boolean;
}

/** Stops an allocation and has another made for it: transition and evaluation in one transaction (API-193). */
export class StopAllocation {
  constructor(
    private readonly writer: Proposer,
    private readonly allocation: (id: string) => Promise<Allocation | undefined>,
    private readonly clock: Clock,
    private readonly newId: () => string,
  ) {}

  /** One that has ended may be stopped too. @throws Refusal 404 */
  async run(options: StopAllocationOptions, requester: Requester): Promise<{ EvalID: string; Index: number }> {
    const alloc = await this.allocation(options.id);
    if (!alloc?.Job) throw notFound('allocation not found');
    const nowNs = nsFromMs(this.clock.nowMs());
    const evaluation = newEvaluation({
      ID: this.newId(),
      Namespace: alloc.Namespace,
      Priority: alloc.Job.Priority,
      Type: alloc.Job.Type,
      TriggeredBy: 'alloc-stop',
      JobID: alloc.JobID,
      JobModifyIndex: alloc.Job.ModifyIndex,
      CreateTime: nowNs,
    });
    const transition = {
      ...NO_TRANSITION,
      Migrate: true,
      Reschedule: options.reschedule,
      NoShutdownDelay: options.noShutdownDelay,
    };
    const draft = draftTxn(
      'AllocUpdateDesiredTransition',
      { Transitions: { [alloc.ID]: transition }, Evals: [evaluation] },
      { ...requester.draftContext(nowNs), namespace: alloc.Namespace, region: alloc.Job.Region },
    );
    const { index } = acceptedOrThrow(await this.writer.propose(draft));
    return { EvalID: evaluation.ID, Index: index };
  }
}
