import { ConflictError, jobSubject, type Log } from '@waybill/journal';
import {
  type Clock,
  type Deployment,
  findTaskGroup,
  type GroupScalingEvent,
  isActiveDeployment,
  isSystemJob,
  type Job,
  MAX_SCALING_MESSAGE_BYTES,
  MAX_SCALING_META_BYTES,
  nameLengthErrors,
  nsFromMs,
  type TaskGroup,
  totalCountErrors,
} from '@waybill/model';
import { draftTxn, type Proposer } from '@waybill/state';
import { badRequest, notFound } from '../http/api-error.js';
import {
  asObject,
  boolOf,
  intOf,
  type JsonObject,
  memberOf,
  objectOf,
  stringOf,
  uintOf,
} from '../http/json-members.js';
import type { Requester } from '../http/requester.js';
import { acceptedOrThrow } from '../writer.js';
import { JOB_MAX_COUNT } from './job-admission.js';
import { MAX_CONFLICTS, type Registered, type RegisterJob } from './register-job.js';

export interface ScalingWish {
  readonly group: string;
  /** Null: nothing is scaled, the event only says why. */
  readonly count: number | null;
  readonly message: string;
  readonly error: boolean;
  readonly meta: Record<string, unknown> | null;
  /** 0: not enforced. */
  readonly jobModifyIndex: number;
}

export interface ScaleLookup {
  job(namespace: string, id: string): Promise<{ readonly row: Job | undefined }>;
  jobDeployment(namespace: string, id: string): Promise<{ readonly row: Deployment | undefined }>;
}

/**
 * Gives a group another count (API-170 to API-173): a registration of the same job with that count, and in the same
 * transaction an event that says who wanted it. Where the count is what it was, or none is given, the job stays as it
 * is and the event is a transaction of its own.
 */
export class ScaleJob {
  constructor(
    private readonly log: Log,
    private readonly writer: Proposer,
    private readonly register: Pick<RegisterJob, 'decide' | 'refuseWhenDisabled'>,
    private readonly read: ScaleLookup,
    private readonly readable: (index: number) => Promise<unknown>,
    private readonly clock: Clock,
    private readonly newId: () => string,
  ) {}

  /** @param json the body of the request @throws Refusal, DecodeError */
  async run(namespace: string, id: string, json: unknown, requester: Requester): Promise<Registered> {
    const body = asObject(json, 'ScalingRequest');
    const target = objectOf(body, 'Target') ?? {};
    if (stringOf(target, 'Job') !== '' && stringOf(target, 'Job') !== id)
      throw badRequest('job ID in payload did not match URL');
    await this.register.refuseWhenDisabled();
    const wish = readWish(body, target, namespace);
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.scale(namespace, id, wish, requester);
      } catch (error) {
        if (!(error instanceof ConflictError) || attempt === MAX_CONFLICTS) throw error;
      }
    }
  }

  private async scale(namespace: string, id: string, wish: ScalingWish, requester: Requester): Promise<Registered> {
    const written = await this.log.lastSequence(jobSubject(namespace, id));
    if (written > 0) await this.readable(written);
    const { row: job } = await this.read.job(namespace, id);
    if (!job) throw notFound(`job "${id}" not found`);
    const group = findTaskGroup(job, wish.group);
    if (!group) throw badRequest(`task group "${wish.group}" specified for scaling does not exist in job`);
    const event = this.eventOf(group, wish);
    if (wish.count === null) {
      const Index = await this.record(job, event, requester);
      return { EvalID: '', EvalCreateIndex: 0, JobModifyIndex: job.ModifyIndex, Warnings: '', Index };
    }
    refuseCount(job, group, wish.count);
    await this.refuseDuringDeployment(job);
    const registration = registrationOf(job, group, wish.count, wish);
    const [tooMany] = totalCountErrors(registration.Job, JOB_MAX_COUNT);
    if (tooMany !== undefined) throw badRequest(tooMany);
    const registered = await this.register.decide({ ...registration, Scaling: event }, '', requester);
    const isNewVersion = registered.JobModifyIndex === registered.Index;
    if (isNewVersion) return registered;
    const EvalID = registered.EvalID || null;
    const ScalingEvent = { ...event.ScalingEvent, EvalID };
    return { ...registered, Index: await this.record(job, { ...event, ScalingEvent }, requester) };
  }

  /** API-172. */
  private async refuseDuringDeployment(job: Job): Promise<void> {
    const { row: latest } = await this.read.jobDeployment(job.Namespace, job.ID);
    if (latest && latest.JobCreateIndex === job.CreateIndex && isActiveDeployment(latest))
      throw badRequest('job scaling blocked due to active deployment');
  }

  private eventOf(group: TaskGroup, wish: ScalingWish): GroupScalingEvent {
    return {
      TaskGroup: group.Name,
      ScalingEvent: {
        Time: nsFromMs(this.clock.nowMs()),
        Count: wish.count,
        PreviousCount: group.Count,
        Message: wish.message,
        Error: wish.error,
        Meta: wish.meta,
        EvalID: null,
        CreateIndex: 0,
      },
    };
  }

  /** Resolves with the index of the event. */
  private async record(job: Job, event: GroupScalingEvent, requester: Requester): Promise<number> {
    const draft = draftTxn(
      'ScalingEventRegister',
      { JobID: job.ID, ...event },
      // Not the evaluation's id: a second transaction with it would count as the first one.
      {
        ...requester.draftContext(event.ScalingEvent.Time),
        requestId: this.newId(),
        namespace: job.Namespace,
        region: job.Region,
      },
    );
    return acceptedOrThrow(await this.writer.propose(draft)).index;
  }
}

/** API-170, in its order. @throws Refusal 400, DecodeError */
function readWish(body: JsonObject, target: JsonObject, namespace: string): ScalingWish {
  const named = stringOf(target, 'Namespace');
  if (named !== '' && named !== namespace) throw badRequest('namespace in payload did not match header');
  const group = stringOf(target, 'Group');
  if (group === '') throw badRequest('missing task group name for scaling action');
  const count = memberOf(body, 'Count') === undefined ? null : intOf(body, 'Count');
  if (count !== null && count < 0) throw badRequest("scaling action count can't be negative");
  const error = boolOf(body, 'Error');
  if (error && count !== null) throw badRequest('scaling action should not contain count if error is true');
  const message = stringOf(body, 'Message');
  const meta = objectOf(body, 'Meta') ?? null;
  const [tooLong] = [
    ...nameLengthErrors('scaling action message', message, MAX_SCALING_MESSAGE_BYTES),
    ...nameLengthErrors('scaling action meta', JSON.stringify(meta), MAX_SCALING_META_BYTES),
  ];
  if (tooLong !== undefined) throw badRequest(tooLong);
  return {
    group,
    count,
    message,
    error,
    meta,
    jobModifyIndex: uintOf(body, 'JobModifyIndex'),
  };
}

/** API-171. @throws Refusal 400 */
function refuseCount(job: Job, { Scaling: policy }: TaskGroup, count: number): void {
  if (policy && count < policy.Min)
    throw badRequest(`group count was less than scaling policy minimum: ${count} < ${policy.Min}`);
  if (policy && count > policy.Max)
    throw badRequest(`group count was greater than scaling policy maximum: ${count} > ${policy.Max}`);
  if (isSystemJob(job) && count > 1) throw badRequest(`jobs of type "${job.Type}" can only be scaled between 0 and 1`);
}

function registrationOf(job: Job, group: TaskGroup, Count: number, { jobModifyIndex }: ScalingWish) {
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
    Trigger: 'job-scaling' as const,
  };
}
