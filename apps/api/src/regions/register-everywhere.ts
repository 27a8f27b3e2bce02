import { refuseEnforced, refuseTypeChange } from '../jobs/decisions/registration.js';
import { badRequest, serverFailure } from '../http/api-error.js';
import { isMultiregion, type Job, regionsOf } from '@waybill/model';
import { jobInThatRegion, registerInRegion, type Regions } from '@waybill/rpc';
import type { Requester } from '../http/requester.js';
import type { JobAdmission } from '../jobs/job-admission.js';
import type { Registered, RegisterJob } from '../jobs/register-job.js';
import type { RegisterJobRequest } from '../jobs/register-request.js';
import { inEachRegion } from './each-region.js';
import type { RegionJobs } from './region-jobs.js';
import { decideRollout, type RegionPart } from './rollout-decision.js';

/**
 * RegisterEverywhere registers a job in every region that it lists, as the coordinating region (DP-1101 to DP-1112). It
 * first asks all regions: if one does not answer, nothing is written anywhere. Then the other regions register, and
 * this region last. If a region fails in between, the registered regions wait: they start nothing before all are there
 * (DP-1115), and registering again completes it. The regions themselves carry out the rollout, and the end in regions
 * that are no longer listed (DP-1113); neither depends on this process. A job of one region is registered in the usual
 * way.
 */
export class RegisterEverywhere {
  constructor(
    private readonly regions: Regions,
    private readonly admission: Pick<JobAdmission, 'admit'>,
    private readonly registerJob: RegisterJob,
    private readonly here: RegionJobs,
  ) {}

  /** @throws Refusal */
  async register(request: RegisterJobRequest, requester: Requester): Promise<Registered> {
    const { Job: job } = request;
    if (!isMultiregion(job)) return this.registerJob.register(request, requester);
    const warned = await this.admission.admit(request);
    this.refuseUnknownRegions(job);
    await this.registerJob.refuseWhenDisabled();
    const stored = await this.storedEverywhere(job);
    refuseEnforced(request, stored.get(this.own) ?? undefined);
    for (const old of stored.values()) if (old) refuseTypeChange(old, job);
    const parts = decideRollout(job, stored);
    const own = parts.find(({ region }) => region === this.own);
    if (!own) return this.registerJob.write({ ...request, Job: stored.get(this.own) ?? job }, warned, requester);
    await this.registerInPeers(parts, request, requester);
    return this.registerJob.write(requestForRegion(request, own), warned, requester);
  }

  private get own(): string {
    return this.regions.own;
  }

  private refuseUnknownRegions(job: Job): void {
    const known = new Set(this.regions.names);
    if (regionsOf(job).some(({ Name }) => !known.has(Name))) throw badRequest('No path to region');
  }

  /** Reads the stored job of each region (DP-1103). @throws Refusal that names the regions that have not answered */
  private async storedEverywhere({ Namespace, ID, ...job }: Job): Promise<Map<string, Job | null>> {
    const names = regionsOf(job).map(({ Name }) => Name);
    const answers = await inEachRegion(names, async (region) => {
      const wanted = { Namespace, ID };
      const answer =
        region === this.own
          ? await this.here.stored(wanted)
          : await this.regions.askRegion(region, jobInThatRegion, wanted);
      return [region, answer.Job] as const;
    });
    if (answers.errors.length > 0) throw serverFailure(`${answers.errors.join('; ')}; nothing was registered`);
    return new Map(answers.values);
  }

  private async registerInPeers(
    parts: readonly RegionPart[],
    request: RegisterJobRequest,
    requester: Requester,
  ): Promise<void> {
    const peers = parts.filter(({ region }) => region !== this.own);
    const answers = await inEachRegion(
      peers.map(({ region }) => region),
      (region) => {
        const part = peers.find((peer) => peer.region === region);
        if (!part) throw new Error(`no part for region ${region}`);
        const { Job, Submission, EvalPriority, JobModifyIndex, PreserveCounts, PreserveResources } = requestForRegion(
          request,
          part,
        );
        const wanted = { Job, Submission, EvalPriority, JobModifyIndex, PreserveCounts, PreserveResources };
        const { traceparent } = requester;
        return this.regions.askRegion(
          region,
          registerInRegion,
          { ...wanted, For: requester.onBehalf },
          { traceparent },
        );
      },
    );
    if (answers.errors.length > 0)
      throw serverFailure(
        `${answers.errors.join('; ')}; nothing is started before all regions have the job: register it again`,
      );
  }
}

function requestForRegion(request: RegisterJobRequest, { job, jobModifyIndex }: RegionPart): RegisterJobRequest {
  return { ...request, Job: job, EnforceIndex: true, JobModifyIndex: jobModifyIndex, isPartOfRollout: true };
}
