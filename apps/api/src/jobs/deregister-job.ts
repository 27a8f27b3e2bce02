import type { TransactionWriter } from '@waybill/writing';
import type { Requester } from '../http/requester.js';
import type { CurrentJobs } from './current-jobs.js';
import { deregistrationOf, type DeregisterOptions } from './decisions/deregistration.js';

export interface Deregistered {
  readonly EvalID: string;
  readonly EvalCreateIndex: number;
  readonly JobModifyIndex: number;
  readonly VolumeEvalID: '';
  readonly VolumeEvalIndex: 0;
  readonly Index: number;
}

export interface DeregisterJobDeps {
  readonly writer: TransactionWriter;
  readonly jobs: Pick<CurrentJobs, 'job'>;
  readonly newId: () => string;
}

/** DeregisterJob stops a job for a user, or removes it with everything that belongs to it (API-120 to API-125). */
export class DeregisterJob {
  constructor(private readonly deps: DeregisterJobDeps) {}

  /** @throws Refusal */
  async deregister(options: DeregisterOptions, requester: Requester): Promise<Deregistered> {
    const { writer, jobs, newId } = this.deps;
    const { row: job } = await jobs.job(options.namespace, options.id);
    if (!job) return deregistered('', 0);
    const decision = deregistrationOf(options, job, { newId, nowNs: writer.nowNs() });
    const { index } = await writer.write(decision, requester.author);
    return deregistered(decision.payload.Eval?.ID ?? '', index);
  }
}

function deregistered(evalId: string, index: number): Deregistered {
  return {
    EvalID: evalId,
    EvalCreateIndex: index,
    JobModifyIndex: index,
    VolumeEvalID: '',
    VolumeEvalIndex: 0,
    Index: index,
  };
}
