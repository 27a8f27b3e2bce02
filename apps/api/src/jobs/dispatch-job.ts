import { DecodeError } from '@waybill/model';
import type { TransactionWriter } from '@waybill/writing';
import { badRequest } from '../http/api-error.js';
import { asObject, intOf, objectOf, stringOf } from '../http/json-members.js';
import type { Requester } from '../http/requester.js';
import type { CurrentJobs } from './current-jobs.js';
import { dispatchOf, type DispatchWish } from './decisions/dispatch.js';
import type { JobLookup, RegisterJob } from './register-job.js';

export interface Dispatched {
  readonly DispatchedJobID: string;
  readonly EvalID: string;
  readonly EvalCreateIndex: number;
  readonly JobCreateIndex: number;
  readonly Index: number;
}

/**
 * Decodes a dispatch: payload, meta, prefix of the ID and priority (API-175, API-176). @throws Refusal invalid,
 * DecodeError
 */
export function readDispatchRequest(json: unknown, pathJobId: string): Omit<DispatchWish, 'idempotencyToken'> {
  const body = asObject(json, 'JobDispatchRequest');
  const id = stringOf(body, 'JobID');
  if (id !== '' && id !== pathJobId) throw badRequest('Job ID does not match');
  const meta = objectOf(body, 'Meta') ?? {};
  return {
    payload: base64Of(stringOf(body, 'Payload')),
    meta: Object.fromEntries(Object.keys(meta).map((key) => [key, stringOf(meta, key)])),
    idPrefix: stringOf(body, 'IdPrefixTemplate'),
    priority: intOf(body, 'Priority'),
  };
}

function base64Of(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text) throw new DecodeError('illegal base64 data in Payload');
  return bytes;
}

export interface DispatchJobDeps {
  readonly writer: TransactionWriter;
  readonly jobs: Pick<CurrentJobs, 'job'>;
  readonly register: Pick<RegisterJob, 'refuseWhenDisabled'>;
  readonly read: Pick<JobLookup, 'job'>;
  readonly newId: () => string;
}

/** DispatchJob makes a job from a parameterized one for a user (API-175 to API-178). */
export class DispatchJob {
  constructor(private readonly deps: DispatchJobDeps) {}

  /** @throws Refusal */
  async dispatch(namespace: string, id: string, wish: DispatchWish, requester: Requester): Promise<Dispatched> {
    const { writer, jobs, register, newId } = this.deps;
    await register.refuseWhenDisabled();
    const { row: parent } = await jobs.job(namespace, id);
    const decision = dispatchOf(parent, wish, { newId, nowNs: writer.nowNs() });
    const { index, isNoop, result } = await writer.write(decision, requester.author);
    if (isNoop) return this.earlierDispatch(namespace, result);
    const { Job: child, Eval } = decision.payload;
    return {
      DispatchedJobID: child.ID,
      EvalID: Eval?.ID ?? '',
      EvalCreateIndex: Eval ? index : 0,
      JobCreateIndex: index,
      Index: index,
    };
  }

  /** Returns the answer for a repeated idempotency token: the job that the first dispatch created (API-177). */
  private async earlierDispatch(namespace: string, result: unknown): Promise<Dispatched> {
    const DispatchedJobID = stringOf(asObject(result ?? {}, 'verdict'), 'JobID');
    const child = await this.deps.read.job(namespace, DispatchedJobID);
    return {
      DispatchedJobID,
      EvalID: '',
      EvalCreateIndex: 0,
      JobCreateIndex: child?.CreateIndex ?? 0,
      Index: child?.ModifyIndex ?? 0,
    };
  }
}
