import type { Allocation } from '@waybill/model';
import type { TransactionWriter } from '@waybill/writing';
import { badRequest } from '../http/api-error.js';
import { asObject, boolOf, objectOf, stringOf } from '../http/json-members.js';
import type { Requester } from '../http/requester.js';
import type { CurrentJobs } from './current-jobs.js';
import { evaluationOf } from './decisions/evaluation.js';
import type { Registered } from './register-job.js';

export interface EvaluateOptions {
  readonly namespace: string;
  readonly id: string;
  readonly forceReschedule: boolean;
}

/**
 * Decodes a request to evaluate a job (API-150). @param body undefined if there was none @throws Refusal invalid,
 * DecodeError
 */
export function readEvaluateRequest(body: unknown, pathJobId: string): { readonly forceReschedule: boolean } {
  if (body === undefined) return { forceReschedule: false };
  const given = asObject(body, 'JobEvaluateRequest');
  const id = stringOf(given, 'JobID');
  if (id === '') throw badRequest('Job ID must be specified');
  if (id !== pathJobId) throw badRequest('JobID not same as job name');
  return { forceReschedule: boolOf(objectOf(given, 'EvalOptions') ?? {}, 'ForceReschedule') };
}

export interface EvaluateJobDeps {
  readonly writer: TransactionWriter;
  readonly jobs: Pick<CurrentJobs, 'job'>;
  readonly read: {
    jobAllocations(namespace: string, id: string): Promise<{ readonly rows: readonly Allocation[] }>;
  };
  readonly newId: () => string;
}

/**
 * EvaluateJob evaluates a job again for a user. On request it replaces failed allocations before their time (API-150).
 */
export class EvaluateJob {
  constructor(private readonly deps: EvaluateJobDeps) {}

  /** @throws Refusal */
  async evaluate({ namespace, id, forceReschedule }: EvaluateOptions, requester: Requester): Promise<Registered> {
    const { writer, jobs, read, newId } = this.deps;
    const { row: job } = await jobs.job(namespace, id);
    const allocs = job && forceReschedule ? (await read.jobAllocations(namespace, id)).rows : [];
    const decision = evaluationOf(job, allocs, { newId, nowNs: writer.nowNs() });
    const { index } = await writer.write(decision, requester.author);
    const EvalID = decision.payload.Evals[0]?.ID ?? '';
    return { EvalID, EvalCreateIndex: index, JobModifyIndex: job?.ModifyIndex ?? 0, Warnings: '', Index: index };
  }
}
