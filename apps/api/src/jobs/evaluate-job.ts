import { jobSubject, type Log } from '@waybill/journal';
import {
  type Allocation,
  type Clock,
  type DesiredTransition,
  type Evaluation,
  isParameterized,
  isPeriodic,
  type Job,
  newEvaluation,
  nsFromMs,
} from '@waybill/model';
import { draftTxn, type DraftContext, type Proposer, type TxnDraft } from '@waybill/state';
import { badRequest, notFound } from '../http/api-error.js';
import { asObject, boolOf, objectOf, stringOf } from '../http/json-members.js';
import type { Requester } from '../http/requester.js';
import { acceptedOrThrow } from '../writer.js';
import type { Registered } from './register-job.js';

export interface EvaluateOptions {
  readonly namespace: string;
  readonly id: string;
  readonly forceReschedule: boolean;
}

/** What evaluating reads of the read model. */
export interface EvaluateLookup {
  job(namespace: string, id: string): Promise<{ readonly row: Job | undefined }>;
  jobAllocations(namespace: string, id: string): Promise<{ readonly rows: readonly Allocation[] }>;
}

/** API-150. @param body undefined: there was none @throws Refusal 400, DecodeError */
export function readEvaluateRequest(body: unknown, pathJobId: string): { readonly forceReschedule: boolean } {
  if (body === undefined) return { forceReschedule: false };
  const given = asObject(body, 'JobEvaluateRequest');
  const id = stringOf(given, 'JobID');
  if (id === '') throw badRequest('Job ID must be specified');
  if (id !== pathJobId) throw badRequest('JobID not same as job name');
  return { forceReschedule: boolOf(objectOf(given, 'EvalOptions') ?? {}, 'ForceReschedule') };
}

/**
 * Has a job looked at again, and on demand its failed allocations replaced before their time (API-150): the evaluation
 * and the marks are one transaction.
 */
export class EvaluateJob {
  constructor(
    private readonly log: Log,
    private readonly writer: Proposer,
    private readonly read: EvaluateLookup,
    private readonly readable: (index: number) => Promise<unknown>,
    private readonly clock: Clock,
    private readonly newId: () => string,
  ) {}

  /** @throws Refusal */
  async run({ namespace, id, forceReschedule }: EvaluateOptions, requester: Requester): Promise<Registered> {
    const written = await this.log.lastSequence(jobSubject(namespace, id));
    if (written > 0) await this.readable(written);
    const { row: job } = await this.read.job(namespace, id);
    if (!job) throw notFound('job not found');
    if (isPeriodic(job)) throw badRequest("can't evaluate periodic job");
    if (isParameterized(job)) throw badRequest("can't evaluate parameterized job");
    const nowNs = nsFromMs(this.clock.nowMs());
    const evaluation = newEvaluation({
      ID: this.newId(),
      Namespace: job.Namespace,
      Priority: job.Priority,
      Type: job.Type,
      TriggeredBy: 'job-register',
      JobID: job.ID,
      JobModifyIndex: job.ModifyIndex,
      CreateTime: nowNs,
    });
    const allocs = forceReschedule ? (await this.read.jobAllocations(namespace, id)).rows : [];
    const forced = allocs.filter((alloc) => isToBeForced(job, alloc)).map((alloc) => alloc.ID);
    const context = { ...requester.draftContext(nowNs), namespace: job.Namespace, region: job.Region };
    const { index } = acceptedOrThrow(await this.writer.propose(draftOf(evaluation, forced, context)));
    return {
      EvalID: evaluation.ID,
      EvalCreateIndex: index,
      JobModifyIndex: job.ModifyIndex,
      Warnings: '',
      Index: index,
    };
  }
}

function draftOf(evaluation: Evaluation, forced: readonly string[], context: DraftContext): TxnDraft {
  if (forced.length === 0) return draftTxn('EvalUpdate', { Evals: [evaluation] }, context);
  const Transitions = Object.fromEntries(forced.map((id) => [id, FORCE_RESCHEDULE]));
  return draftTxn('AllocUpdateDesiredTransition', { Transitions, Evals: [evaluation] }, context);
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
