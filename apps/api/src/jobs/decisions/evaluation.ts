import {
  type Allocation,
  type DesiredTransition,
  isParameterized,
  isPeriodic,
  type Job,
  newEvaluation,
} from '@waybill/model';
import type { Decision } from '@waybill/writing';
import { badRequest, notFound } from '../../http/api-error.js';

/**
 * Evaluates a job again, and marks those of the given allocations that failed for replacement before their time. The
 * evaluation and the marks are one transaction (API-150).
 * @throws Refusal
 */
export function evaluationOf(
  job: Job | undefined,
  allocs: readonly Allocation[],
  made: { readonly newId: () => string; readonly nowNs: number },
): Decision<'EvalUpdate' | 'AllocUpdateDesiredTransition'> {
  if (!job) throw notFound('job not found');
  if (isPeriodic(job)) throw badRequest("can't evaluate periodic job");
  if (isParameterized(job)) throw badRequest("can't evaluate parameterized job");
  const evaluation = newEvaluation({
    ID: made.newId(),
    Namespace: job.Namespace,
    Priority: job.Priority,
    Type: job.Type,
    TriggeredBy: 'job-register',
    JobID: job.ID,
    JobModifyIndex: job.ModifyIndex,
    CreateTime: made.nowNs,
  });
  const place = { namespace: job.Namespace, region: job.Region, isUnconditional: true };
  const forced = allocs.filter((alloc) => isToBeForced(job, alloc)).map((alloc) => alloc.ID);
  if (forced.length === 0) return { type: 'EvalUpdate', payload: { Evals: [evaluation] }, ...place };
  const Transitions = Object.fromEntries(forced.map((id) => [id, FORCE_RESCHEDULE]));
  return { type: 'AllocUpdateDesiredTransition', payload: { Transitions, Evals: [evaluation] }, ...place };
}

const FORCE_RESCHEDULE: DesiredTransition = {
  Migrate: null,
  Reschedule: null,
  ForceReschedule: true,
  NoShutdownDelay: null,
  MigrateDisablePlacement: null,
};

function isToBeForced(job: Job, alloc: Allocation): boolean {
  if (alloc.ClientStatus !== 'failed' || alloc.NextAllocation !== '') return false;
  if (alloc.DesiredTransition.ForceReschedule === true) return false;
  const policy = job.TaskGroups.find((group) => group.Name === alloc.TaskGroup)?.ReschedulePolicy;
  return policy !== undefined && policy !== null && (policy.Unlimited || policy.Attempts > 0);
}
