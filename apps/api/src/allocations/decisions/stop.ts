import { type Allocation, newEvaluation, NO_TRANSITION } from '@waybill/model';
import type { Decision } from '@waybill/writing';
import { notFound } from '../../http/api-error.js';

export interface StopAllocationOptions {
  readonly id: string;
  readonly noShutdownDelay: boolean;
  readonly reschedule: boolean;
}

/**
 * Stops an allocation and causes a replacement: the transition and the evaluation are one transaction (API-193). An
 * ended allocation may be stopped too.
 * @throws Refusal not-found
 */
export function stopOf(
  alloc: Allocation | undefined,
  options: StopAllocationOptions,
  evalId: string,
  nowNs: number,
): Decision<'AllocUpdateDesiredTransition'> {
  if (!alloc?.Job) throw notFound('allocation not found');
  const evaluation = newEvaluation({
    ID: evalId,
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
  const payload = { Transitions: { [alloc.ID]: transition }, Evals: [evaluation] };
  return { type: 'AllocUpdateDesiredTransition', payload, namespace: alloc.Namespace, region: alloc.Job.Region };
}
