import { jobSubject, type Log } from '@waybill/journal';
import { type Clock, isParameterized, isPeriodic, type Job, newEvaluation, nsFromMs } from '@waybill/model';
import { draftTxn, type Proposer } from '@waybill/state';
import type { Requester } from '../http/requester.js';
import { acceptedOrThrow } from '../writer.js';
import { JOB_TRACKED_VERSIONS, type JobLookup } from './register-job.js';

export interface DeregisterOptions {
  readonly namespace: string;
  readonly id: string;
  readonly purge: boolean;
  /** 0: the job's own. */
  readonly evalPriority: number;
  readonly noShutdownDelay: boolean;
}

export interface Deregistered {
  readonly EvalID: string;
  readonly EvalCreateIndex: number;
  readonly JobModifyIndex: number;
  readonly VolumeEvalID: '';
  readonly VolumeEvalIndex: 0;
  readonly Index: number;
}

/** Stops a job, or removes it with all it left (API-120 to API-125), with its evaluation in one transaction. */
export class DeregisterJob {
  constructor(
    private readonly log: Log,
    private readonly writer: Proposer,
    private readonly read: JobLookup,
    private readonly readable: (index: number) => Promise<unknown>,
    private readonly clock: Clock,
    private readonly newId: () => string,
  ) {}

  /** The job as of the last transaction about it. */
  async stored(namespace: string, id: string): Promise<Job | undefined> {
    const written = await this.log.lastSequence(jobSubject(namespace, id));
    if (written > 0) await this.readable(written);
    return this.read.job(namespace, id);
  }

  /** @throws Refusal */
  async run(options: DeregisterOptions, requester: Requester): Promise<Deregistered> {
    const job = await this.stored(options.namespace, options.id);
    if (!job) return answer('', 0);
    const nowNs = nsFromMs(this.clock.nowMs());
    const evaluation =
      isPeriodic(job) || isParameterized(job)
        ? null
        : newEvaluation({
            ID: this.newId(),
            Namespace: job.Namespace,
            Priority: options.evalPriority || job.Priority,
            Type: 'service', // whatever the job's type (API-121)
            TriggeredBy: 'job-deregister',
            JobID: job.ID,
            CreateTime: nowNs,
          });
    const draft = draftTxn(
      'JobDeregister',
      {
        JobID: job.ID,
        Purge: options.purge,
        NoShutdownDelay: options.noShutdownDelay,
        SubmitTime: nowNs,
        Eval: evaluation,
        TrackedVersions: JOB_TRACKED_VERSIONS,
      },
      { ...requester.draftContext(nowNs), namespace: job.Namespace, region: job.Region },
    );
    const { index } = acceptedOrThrow(await this.writer.propose(draft));
    return answer(evaluation?.ID ?? '', index);
  }
}

function answer(evalId: string, index: number): Deregistered {
  return {
    EvalID: evalId,
    EvalCreateIndex: index,
    JobModifyIndex: index,
    VolumeEvalID: '',
    VolumeEvalIndex: 0,
    Index: index,
  };
}
