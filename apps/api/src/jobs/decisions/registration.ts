import {
  type Deployment,
  deployedJob,
  DEPLOYMENT_PENDING_PEER,
  type Evaluation,
  type GroupScalingEvent,
  isParameterized,
  isPeriodic,
  isRolledOutInOrder,
  type Job,
  newEvaluation,
  specChanged,
} from '@waybill/model';
import { DEFAULT_TRACKED_VERSIONS } from '@waybill/state';
import type { Decision } from '@waybill/writing';
import { badRequest, conflict } from '../../http/api-error.js';
import type { RegisterJobRequest } from '../register-request.js';

/** Registration has what a registration needs besides the request. */
export interface Registration {
  readonly newId: () => string;
  /** The time in Unix nanoseconds. */
  readonly nowNs: number;
  /** The ID of the request. It is the same in all regions in which the request registers the job. */
  readonly registration: string;
}

/**
 * Compares a job as its user wants it with the stored job (API-100 to API-116). The result is a new version with its
 * evaluation, or only the evaluation if nothing changes, or undefined if there is nothing to write.
 * @throws Refusal conflict if another index is enforced (API-108); invalid if the kind of the job would change
 */
export function registrationOf(
  request: RegisterJobRequest,
  stored: Job | undefined,
  made: Registration,
): Decision<'JobRegister' | 'EvalUpdate'> | undefined {
  const job = request.Job;
  refuseEnforced(request, stored);
  if (stored) refuseTypeChange(stored, job);
  const evaluation = isPeriodic(job) || isParameterized(job) ? null : evaluationFor(request, made);
  const place = { namespace: job.Namespace, region: job.Region };
  if (!request.isPartOfRollout && stored && !stored.Stop && !specChanged(stored, job)) {
    if (!evaluation) return undefined;
    const Evals = [{ ...evaluation, JobModifyIndex: stored.JobModifyIndex }];
    return { type: 'EvalUpdate', payload: { Evals }, ...place, isUnconditional: true };
  }
  const payload = {
    Job: { ...job, SubmitTime: made.nowNs },
    Submission: request.Submission,
    EnforceIndex: request.EnforceIndex,
    JobModifyIndex: request.JobModifyIndex,
    PreserveCounts: request.PreserveCounts,
    PreserveResources: request.PreserveResources,
    Eval: evaluation,
    SubmissionFrom: request.SubmissionFrom ?? null,
    TrackedVersions: DEFAULT_TRACKED_VERSIONS,
    ...(request.isPartOfRollout && isRolledOutInOrder(job) && { Deployment: waitingDeployment(request, made) }),
    ...(request.Scaling && { Scaling: ofEvaluation(request.Scaling, evaluation) }),
  };
  return { type: 'JobRegister', payload, ...place };
}

function evaluationFor(
  { Job: job, EvalPriority, Trigger }: RegisterJobRequest,
  { newId, nowNs }: Registration,
): Evaluation {
  return newEvaluation({
    ID: newId(),
    Namespace: job.Namespace,
    Priority: EvalPriority || job.Priority,
    Type: job.Type,
    TriggeredBy: Trigger ?? 'job-register',
    JobID: job.ID,
    CreateTime: nowNs,
  });
}

/**
 * Returns a deployment that waits for its region's turn (DP-1107). The state machine fills in the job's version and
 * indexes.
 */
function waitingDeployment(
  { Job: job, EvalPriority }: RegisterJobRequest,
  { newId, nowNs, registration }: Registration,
): Deployment {
  return {
    ID: newId(),
    ...deployedJob(job),
    IsMultiregion: true,
    Registration: registration,
    TaskGroups: {},
    Status: 'initializing',
    StatusDescription: DEPLOYMENT_PENDING_PEER,
    EvalPriority: EvalPriority || job.Priority,
    CreateIndex: 0,
    ModifyIndex: 0,
    CreateTime: nowNs,
    ModifyTime: nowNs,
  };
}

/** Returns the event with the name of the evaluation that carries it out. */
const ofEvaluation = (event: GroupScalingEvent, evaluation: Evaluation | null): GroupScalingEvent => ({
  ...event,
  ScalingEvent: { ...event.ScalingEvent, EvalID: evaluation?.ID ?? null },
});

/** Refuses a registration whose enforced index does not match (API-108). The state machine checks it again (ST-52). */
export function refuseEnforced(
  request: Pick<RegisterJobRequest, 'EnforceIndex' | 'JobModifyIndex'>,
  stored: Job | undefined,
): void {
  if (!request.EnforceIndex) return;
  const n = request.JobModifyIndex;
  const refuseRegistration = (why: string): never => {
    throw conflict(`Enforcing job modify index ${n}: ${why}`);
  };
  if (!stored && n !== 0) refuseRegistration('job does not exist');
  if (stored && n === 0) refuseRegistration('job already exists');
  if (stored && n !== stored.JobModifyIndex)
    refuseRegistration(`job exists with conflicting job modify index: ${stored.JobModifyIndex}`);
}

/**
 * Refuses a change of the job's type. A stored job also stays periodic, parameterized or neither. [API-112, API-113]
 * @throws Refusal invalid
 */
export function refuseTypeChange(stored: Job, job: Job): void {
  if (stored.Dispatched !== job.Dispatched) throw badRequest("field 'Dispatched' is read-only");
  if (stored.Type !== job.Type) throw badRequest(`cannot update job from type "${stored.Type}" to "${job.Type}"`);
  const kinds = [
    ['periodic', isPeriodic(stored), isPeriodic(job)],
    ['parameterized', isParameterized(stored), isParameterized(job)],
  ] as const;
  for (const [kind, before, after] of kinds) {
    if (before && !after) throw badRequest(`cannot update ${kind} job to being non-${kind}`);
    if (!before && after) throw badRequest(`cannot update non-${kind} job to being ${kind}`);
  }
}
