import {
  type Deployment,
  findTaskGroup,
  type GroupScalingEvent,
  isActiveDeployment,
  isSystemJob,
  type Job,
  type TaskGroup,
  totalCountErrors,
} from '@waybill/model';
import type { Decision } from '@waybill/writing';
import { badRequest, notFound } from '../../http/api-error.js';
import { JOB_MAX_COUNT } from '../job-admission.js';
import type { RegisterJobRequest } from '../register-request.js';
import { type Registration, registrationOf } from './registration.js';

export interface ScalingWish {
  readonly group: string;
  /** The wanted count. If it is null, nothing is scaled and the event only gives a reason. */
  readonly count: number | null;
  readonly message: string;
  readonly error: boolean;
  readonly meta: Record<string, unknown> | null;
  /** The index to enforce; 0 enforces none. */
  readonly jobModifyIndex: number;
}

/** Scaled has the data on which a scaling is decided. */
export interface Scaled {
  readonly job: Job | undefined;
  /** The job's latest deployment. */
  readonly deployment: Deployment | undefined;
}

/**
 * Decides about another count for a group (API-170 to API-173). The result registers the same job with that count, and
 * in the same transaction the event that says who wanted it. If no count is wanted, it is only the event. If the count
 * is unchanged, it is what `registrationOf` returns.
 * @throws Refusal
 */
export function scalingOf(
  wish: ScalingWish,
  { job, deployment }: Scaled,
  jobId: string,
  made: Registration,
): Decision<'JobRegister' | 'EvalUpdate' | 'ScalingEventRegister'> | undefined {
  if (!job) throw notFound(`job "${jobId}" not found`);
  const group = findTaskGroup(job, wish.group);
  if (!group) throw badRequest(`task group "${wish.group}" specified for scaling does not exist in job`);
  if (wish.count === null) return eventOf(job, group, wish, { nowNs: made.nowNs, evalId: null });
  refuseCount(job, group, wish.count);
  if (deployment && deployment.JobCreateIndex === job.CreateIndex && isActiveDeployment(deployment))
    throw badRequest('job scaling blocked due to active deployment'); // the text is that of API-172
  const registration = scaledRegistration(job, group, wish.count, wish);
  const [tooMany] = totalCountErrors(registration.Job, JOB_MAX_COUNT);
  if (tooMany !== undefined) throw badRequest(tooMany);
  return registrationOf({ ...registration, Scaling: scalingEvent(group, wish, made.nowNs, null) }, job, made);
}

/** Returns the event as a transaction of its own, which does not change the job (API-173). */
export function eventOf(
  job: Job,
  group: TaskGroup,
  wish: ScalingWish,
  { nowNs, evalId }: { readonly nowNs: number; readonly evalId: string | null },
): Decision<'ScalingEventRegister'> {
  const payload = { JobID: job.ID, ...scalingEvent(group, wish, nowNs, evalId) };
  return { type: 'ScalingEventRegister', payload, namespace: job.Namespace, region: job.Region, isUnconditional: true };
}

const scalingEvent = (group: TaskGroup, wish: ScalingWish, Time: number, EvalID: string | null): GroupScalingEvent => ({
  TaskGroup: group.Name,
  ScalingEvent: {
    Time,
    Count: wish.count,
    PreviousCount: group.Count,
    Message: wish.message,
    Error: wish.error,
    Meta: wish.meta,
    EvalID,
    CreateIndex: 0,
  },
});

/** Refuses a count that the scaling policy or the type of the job does not allow (API-171). @throws Refusal invalid */
function refuseCount(job: Job, { Scaling: policy }: TaskGroup, count: number): void {
  if (policy && count < policy.Min)
    throw badRequest(`group count was less than scaling policy minimum: ${count} < ${policy.Min}`);
  if (policy && count > policy.Max)
    throw badRequest(`group count was greater than scaling policy maximum: ${count} > ${policy.Max}`);
  if (isSystemJob(job) && count > 1) throw badRequest(`jobs of type "${job.Type}" can only be scaled between 0 and 1`);
}

function scaledRegistration(
  job: Job,
  group: TaskGroup,
  Count: number,
  { jobModifyIndex }: ScalingWish,
): RegisterJobRequest {
  const TaskGroups = job.TaskGroups.map((other) => (other === group ? { ...group, Count } : other));
  return {
    Job: { ...job, TaskGroups, Stable: false },
    warnings: [],
    Submission: null,
    SubmissionFrom: job.Version,
    EnforceIndex: true,
    JobModifyIndex: jobModifyIndex || job.JobModifyIndex,
    PreserveCounts: false,
    PreserveResources: false,
    EvalPriority: 0,
    Trigger: 'job-scaling',
  };
}
