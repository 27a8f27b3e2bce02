import { jobSubject, type Log } from '@waybill/journal';
import type {
  RegionDeregistration,
  RegionJob,
  RegionJobRequest,
  RegionRegistration,
  RegionWritten,
} from '@waybill/rpc';
import type { ApiCore } from '../api-core.js';
import { Requester } from '../http/requester.js';
import type { DeregisterJob } from '../jobs/deregister-job.js';
import { deregisterJobOf, registerJobOf } from '../jobs/job-writers.js';
import type { JobLookup, RegisterJob } from '../jobs/register-job.js';

/** What a region does for a job that is registered in several: its own part, and nothing of the others'. */
export class RegionJobs {
  constructor(
    private readonly log: Pick<Log, 'lastSequence'>,
    private readonly read: JobLookup,
    private readonly readable: (index: number) => Promise<unknown>,
    private readonly registerJob: Pick<RegisterJob, 'decide' | 'refuseWhenDisabled'>,
    private readonly deregisterJob: DeregisterJob,
  ) {}

  /** As of the last transaction about the job (DP-1103). @throws Refusal 403: no registrations are taken (API-114) */
  async stored({ Namespace, ID }: RegionJobRequest): Promise<RegionJob> {
    await this.registerJob.refuseWhenDisabled();
    const written = await this.log.lastSequence(jobSubject(Namespace, ID));
    if (written > 0) await this.readable(written);
    return { Job: (await this.read.job(Namespace, ID)) ?? null };
  }

  /** DP-1107. @throws Refusal, ConflictError: the job is no longer what it was decided on */
  async register(wanted: RegionRegistration, traceparent?: string): Promise<RegionWritten> {
    const { Job, Submission, EvalPriority, JobModifyIndex, PreserveCounts, PreserveResources } = wanted;
    const { Index } = await this.registerJob.decide(
      {
        Job,
        Submission,
        EvalPriority,
        JobModifyIndex,
        PreserveCounts,
        PreserveResources,
        EnforceIndex: true,
        isPartOfRollout: true,
        warnings: [],
      },
      '',
      Requester.inOtherRegion(wanted.For, traceparent),
    );
    return { Index };
  }

  /** @throws Refusal */
  async deregister(wanted: RegionDeregistration, traceparent?: string): Promise<RegionWritten> {
    const { Namespace, ID, Purge, EvalPriority, NoShutdownDelay } = wanted;
    const { Index } = await this.deregisterJob.run(
      { namespace: Namespace, id: ID, purge: Purge, evalPriority: EvalPriority, noShutdownDelay: NoShutdownDelay },
      Requester.inOtherRegion(wanted.For, traceparent),
    );
    return { Index };
  }
}

export function regionJobsOf(core: ApiCore): RegionJobs {
  const { lookup, readable, context } = core;
  return new RegionJobs(context.log, lookup, readable, registerJobOf(core), deregisterJobOf(core));
}
