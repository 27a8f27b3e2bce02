import {
  type Deployment,
  findTaskGroup,
  MAX_SCALING_MESSAGE_BYTES,
  MAX_SCALING_META_BYTES,
  nameLengthErrors,
  type Job,
} from '@waybill/model';
import type { TransactionWriter } from '@waybill/writing';
import { badRequest } from '../http/api-error.js';
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
import type { CurrentJobs } from './current-jobs.js';
import { eventOf, scalingOf, type ScalingWish } from './decisions/scaling.js';
import type { Registered, RegisterJob } from './register-job.js';

export interface ScaleJobDeps {
  readonly writer: TransactionWriter;
  readonly jobs: Pick<CurrentJobs, 'job'>;
  readonly register: Pick<RegisterJob, 'refuseWhenDisabled'>;
  readonly read: { jobDeployment(namespace: string, id: string): Promise<{ readonly row: Deployment | undefined }> };
  readonly newId: () => string;
}

/** ScaleJob gives a group another count for a user (API-170 to API-173). */
export class ScaleJob {
  constructor(private readonly deps: ScaleJobDeps) {}

  /** @param json the body of the request @throws Refusal, DecodeError */
  async scale(namespace: string, id: string, json: unknown, requester: Requester): Promise<Registered> {
    const body = asObject(json, 'ScalingRequest');
    const target = objectOf(body, 'Target') ?? {};
    if (stringOf(target, 'Job') !== '' && stringOf(target, 'Job') !== id)
      throw badRequest('job ID in payload did not match URL');
    await this.deps.register.refuseWhenDisabled();
    return this.commitCount(namespace, id, readWish(body, target, namespace), requester);
  }

  private async commitCount(
    namespace: string,
    id: string,
    wish: ScalingWish,
    requester: Requester,
  ): Promise<Registered> {
    const { writer, jobs, read, newId } = this.deps;
    const readGroup = async () => {
      const { row: job, sequence } = await jobs.job(namespace, id);
      const { row: deployment } = await read.jobDeployment(namespace, id);
      return { row: { job, deployment }, sequence };
    };
    const registration = requester.requestId;
    const { row, decision, written } = await writer.commit(requester.author, readGroup, (stored) =>
      scalingOf(wish, stored, id, { newId, nowNs: writer.nowNs(), registration }),
    );
    const index = written?.index ?? 0;
    const JobModifyIndex = row.job?.ModifyIndex ?? 0;
    const answer = { EvalID: '', EvalCreateIndex: 0, JobModifyIndex, Warnings: '', Index: index };
    if (decision?.type === 'ScalingEventRegister') return answer;
    if (decision?.type === 'JobRegister') {
      const EvalID = decision.payload.Eval?.ID ?? '';
      return { ...answer, EvalID, EvalCreateIndex: EvalID === '' ? 0 : index, JobModifyIndex: index };
    }
    // There is no new version, so the event follows as a transaction of its own.
    const EvalID = decision?.payload.Evals[0]?.ID ?? '';
    const Index = await this.record(row.job, wish, EvalID, requester);
    return { ...answer, EvalID, EvalCreateIndex: EvalID === '' ? 0 : index, Index };
  }

  /** Resolves with the index of the event. */
  private async record(job: Job | undefined, wish: ScalingWish, evalId: string, requester: Requester): Promise<number> {
    const group = job && findTaskGroup(job, wish.group);
    if (!job || !group) throw new Error('a scaling without a job is refused before');
    const { writer } = this.deps;
    const event = eventOf(job, group, wish, { nowNs: writer.nowNs(), evalId: evalId || null });
    return (await writer.write(event, requester.laterAuthor)).index;
  }
}

/** Decodes a request to scale a group, and checks it in the order of API-170. @throws Refusal, DecodeError */
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
