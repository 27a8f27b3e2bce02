import type { CurrentJobs } from '../jobs/current-jobs.js';
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
import type { RegisterJob } from '../jobs/register-job.js';

/** RegionJobs does a region's part for a job that is registered in several regions. */
export class RegionJobs {
  constructor(
    private readonly jobs: Pick<CurrentJobs, 'job'>,
    private readonly registerJob: Pick<RegisterJob, 'write' | 'refuseWhenDisabled'>,
    private readonly deregisterJob: Pick<DeregisterJob, 'deregister'>,
  ) {}

  /**
   * Returns the job as of the last transaction about it (DP-1103). @throws Refusal forbidden if registrations are
   * rejected (API-114)
   */
  async stored({ Namespace, ID }: RegionJobRequest): Promise<RegionJob> {
    await this.registerJob.refuseWhenDisabled();
    return { Job: (await this.jobs.job(Namespace, ID)).row ?? null };
  }

  /**
   * Registers this region's part of a job (DP-1107). @throws Refusal conflict if the job has changed since the decision
   */
  async register(wanted: RegionRegistration, traceparent?: string): Promise<RegionWritten> {
    const { Job, Submission, EvalPriority, JobModifyIndex, PreserveCounts, PreserveResources } = wanted;
    const { Index } = await this.registerJob.write(
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
    const { Index } = await this.deregisterJob.deregister(
      { namespace: Namespace, id: ID, purge: Purge, evalPriority: EvalPriority, noShutdownDelay: NoShutdownDelay },
      Requester.inOtherRegion(wanted.For, traceparent),
    );
    return { Index };
  }
}

export function regionJobsOf(core: ApiCore): RegionJobs {
  return new RegionJobs(core.jobs, registerJobOf(core), deregisterJobOf(core));
}
