import { ConflictError, jobSubject, type Log } from '@waybill/journal';
import {
  type Clock,
  type Deployment,
  deployedJob,
  DEPLOYMENT_PENDING_PEER,
  type Evaluation,
  type GroupScalingEvent,
  isParameterized,
  isPeriodic,
  type Job,
  isRolledOutInOrder,
  newEvaluation,
  nsFromMs,
  type SchedulerConfiguration,
  specChanged,
} from '@waybill/model';
import { draftTxn, type Proposer } from '@waybill/state';
import { forbidden, badRequest, conflict } from '../http/api-error.js';
import type { Requester } from '../http/requester.js';
import { acceptedOrThrow } from '../writer.js';
import type { JobAdmission } from './job-admission.js';
import type { RegisterJobRequest } from './register-request.js';

/** Times a register is decided anew because somebody wrote the job in between. */
export const MAX_CONFLICTS = 5;

/** ST-84: untagged versions kept per job. */
export const JOB_TRACKED_VERSIONS = 6;

/** What registering reads of the read model. */
export interface JobLookup {
  job(namespace: string, id: string): Promise<Job | undefined>;
  schedulerConfiguration(): Promise<SchedulerConfiguration | undefined>;
}

export interface Registered {
  readonly EvalID: string;
  readonly EvalCreateIndex: number;
  readonly JobModifyIndex: number;
  readonly Warnings: string;
  readonly Index: number;
}

/**
 * Registers a job for a user (API-100 to API-116): validated here, checked again when applied, job and evaluation in one
 * transaction. Decides on the stored job as of the last transaction on the job's subject; if somebody writes the job in
 * between, it decides again, at most MAX_CONFLICTS times.
 */
export class RegisterJob {
  constructor(
    private readonly log: Log,
    private readonly writer: Proposer,
    private readonly admission: Pick<JobAdmission, 'admit'>,
    private readonly read: JobLookup,
    private readonly readable: (index: number) => Promise<unknown>,
    private readonly clock: Clock,
    private readonly newId: () => string,
  ) {}

  /** @throws Refusal */
  async run(request: RegisterJobRequest, requester: Requester): Promise<Registered> {
    const warned = await this.admission.admit(request);
    await this.refuseWhenDisabled();
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.decide(request, warned, requester);
      } catch (error) {
        if (!(error instanceof ConflictError) || attempt === MAX_CONFLICTS) throw error;
      }
    }
  }

  /** API-114. @throws Refusal 403 */
  async refuseWhenDisabled(): Promise<void> {
    if ((await this.read.schedulerConfiguration())?.RejectJobRegistration)
      throw forbidden('Job registration, dispatch, and scale are disabled by the scheduler configuration');
  }

  /** Writes what is to be written, by the stored job as it is now. @throws Refusal, ConflictError: it is no longer */
  async decide(request: RegisterJobRequest, warnings: string, requester: Requester): Promise<Registered> {
    const job = request.Job;
    const subjectSequence = await this.log.lastSequence(jobSubject(job.Namespace, job.ID));
    if (subjectSequence > 0) await this.readable(subjectSequence);
    const stored = await this.read.job(job.Namespace, job.ID);
    refuseEnforced(request, stored);
    if (stored) refuseTypeChange(stored, job);
    const nowNs = nsFromMs(this.clock.nowMs());
    const evaluation = isPeriodic(job) || isParameterized(job) ? null : this.evaluationFor(request, nowNs);
    const context = { ...requester.draftContext(nowNs), namespace: job.Namespace, region: job.Region };
    if (!request.isPartOfRollout && stored && !stored.Stop && !specChanged(stored, job)) {
      if (!evaluation) return answer(null, stored.ModifyIndex, stored.ModifyIndex, warnings);
      const draft = draftTxn(
        'EvalUpdate',
        { Evals: [{ ...evaluation, JobModifyIndex: stored.JobModifyIndex }] },
        context,
      );
      const { index } = acceptedOrThrow(await this.writer.propose(draft));
      return answer(evaluation, index, stored.ModifyIndex, warnings);
    }
    const draft = draftTxn(
      'JobRegister',
      {
        Job: { ...job, SubmitTime: nowNs },
        Submission: request.Submission,
        EnforceIndex: request.EnforceIndex,
        JobModifyIndex: request.JobModifyIndex,
        PreserveCounts: request.PreserveCounts,
        PreserveResources: request.PreserveResources,
        Eval: evaluation,
        SubmissionFrom: request.SubmissionFrom ?? null,
        TrackedVersions: JOB_TRACKED_VERSIONS,
        ...(request.isPartOfRollout &&
          isRolledOutInOrder(job) && { Deployment: this.waitingDeployment(request, requester.requestId, nowNs) }),
        ...(request.Scaling && { Scaling: ofEvaluation(request.Scaling, evaluation) }),
      },
      context,
    );
    const { index } = acceptedOrThrow(
      await this.writer.propose(draft, { expectedLastSubjectSequence: subjectSequence }),
    );
    return answer(evaluation, index, index, warnings);
  }

  /** DP-1107: what it says of the job is filled in where it is applied. @param registration the same in all regions */
  private waitingDeployment(
    { Job: job, EvalPriority }: RegisterJobRequest,
    registration: string,
    nowNs: number,
  ): Deployment {
    return {
      ID: this.newId(),
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

  private evaluationFor({ Job: job, EvalPriority, Trigger }: RegisterJobRequest, nowNs: number): Evaluation {
    return newEvaluation({
      ID: this.newId(),
      Namespace: job.Namespace,
      Priority: EvalPriority || job.Priority,
      Type: job.Type,
      TriggeredBy: Trigger ?? 'job-register',
      JobID: job.ID,
      CreateTime: nowNs,
    });
  }
}

/** The event names the evaluation that carries it out. */
const ofEvaluation = (event: GroupScalingEvent, evaluation: Evaluation | null): GroupScalingEvent => ({
  ...event,
  ScalingEvent: { ...event.ScalingEvent, EvalID: evaluation?.ID ?? null },
});

function answer(evaluation: Evaluation | null, index: number, jobModifyIndex: number, warnings: string): Registered {
  return {
    EvalID: evaluation?.ID ?? '',
    EvalCreateIndex: evaluation ? index : 0,
    JobModifyIndex: jobModifyIndex,
    Warnings: warnings,
    Index: index,
  };
}

/** API-108; checked again at apply (ST-52). */
export function refuseEnforced(
  request: Pick<RegisterJobRequest, 'EnforceIndex' | 'JobModifyIndex'>,
  stored: Job | undefined,
): void {
  if (!request.EnforceIndex) return;
  const n = request.JobModifyIndex;
  const refuse = (why: string): never => {
    throw conflict(`Enforcing job modify index ${n}: ${why}`);
  };
  if (!stored && n !== 0) refuse('job does not exist');
  if (stored && n === 0) refuse('job already exists');
  if (stored && n !== stored.JobModifyIndex)
    refuse(`job exists with conflicting job modify index: ${stored.JobModifyIndex}`);
}

/** API-112, API-113. */
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
