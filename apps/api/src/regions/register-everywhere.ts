import { isMultiregion, type Job, regionsOf, type Timers } from '@waybill/model';
import { deregisterInRegion, jobInThatRegion, registerInRegion, type Regions } from '@waybill/rpc';
import type { Logger } from '@waybill/telemetry';
import { failed } from '../http/api-error.js';
import type { Requester } from '../http/requester.js';
import type { JobAdmission } from '../jobs/job-admission.js';
import { refuseEnforced, refuseTypeChange, type Registered, type RegisterJob } from '../jobs/register-job.js';
import type { RegisterJobRequest } from '../jobs/register-request.js';
import { inEachRegion } from './each-region.js';
import type { RegionJobs } from './region-jobs.js';
import { decideRollout, type RegionPart } from './rollout-decision.js';

/** First and longest pause before a dropped region that does not answer is asked again, and how often that is done. */
export const FIRST_DROP_RETRY_MS = 5_000;
export const MAX_DROP_RETRY_MS = 300_000;
export const MAX_DROP_ATTEMPTS = 50;

export interface RegisterEverywhereDeps {
  readonly regions: Regions;
  readonly timers: Timers;
  readonly logger: Logger;
}

/**
 * Registers a job in every region it lists, as the region that coordinates (DP-1101 to DP-1113). All regions are asked
 * first: if one does not answer, nothing is written anywhere. Then the peers register, this region last. A peer that
 * fails in between leaves regions that are registered and wait: they start nothing before all are there (DP-1115), and
 * registering again completes it. The rollout itself is the regions' own business; nothing depends on this process.
 * A job of one region goes its usual way.
 */
export class RegisterEverywhere {
  constructor(
    private readonly deps: RegisterEverywhereDeps,
    private readonly admission: Pick<JobAdmission, 'admit'>,
    private readonly registerJob: RegisterJob,
    private readonly here: RegionJobs,
  ) {}

  /** @throws ApiError */
  async run(request: RegisterJobRequest, requester: Requester): Promise<Registered> {
    const { Job: job } = request;
    if (!isMultiregion(job)) return this.registerJob.run(request, requester);
    const warned = await this.admission.admit(request);
    this.refuseUnknownRegions(job);
    await this.registerJob.refuseWhenDisabled();
    const stored = await this.storedEverywhere(job);
    refuseEnforced(request, stored.get(this.own) ?? undefined);
    for (const old of stored.values()) if (old) refuseTypeChange(old, job);
    const { parts, dropped } = decideRollout(job, stored);
    const own = parts.find(({ region }) => region === this.own);
    if (!own) return this.registerJob.decide({ ...request, Job: stored.get(this.own) ?? job }, warned, requester);
    await this.registerInPeers(parts, request, requester);
    const registered = await this.registerJob.decide(partOf(request, own), warned, requester);
    for (const region of dropped) void this.drop(region, job, requester);
    return registered;
  }

  private get own(): string {
    return this.deps.regions.own;
  }

  private refuseUnknownRegions(job: Job): void {
    const known = new Set(this.deps.regions.names);
    if (regionsOf(job).some(({ Name }) => !known.has(Name))) throw failed('No path to region');
  }

  /** DP-1103. @throws ApiError that names the regions that have not answered */
  private async storedEverywhere({ Namespace, ID, ...job }: Job): Promise<Map<string, Job | null>> {
    const names = regionsOf(job).map(({ Name }) => Name);
    const answers = await inEachRegion(names, async (region) => {
      const wanted = { Namespace, ID };
      const answer =
        region === this.own
          ? await this.here.stored(wanted)
          : await this.deps.regions.ask(region, jobInThatRegion, wanted);
      return [region, answer.Job] as const;
    });
    if (answers.errors.length > 0) throw failed(`${answers.errors.join('; ')}; nothing was registered`);
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
        const { Job, Submission, EvalPriority, JobModifyIndex, PreserveCounts, PreserveResources } = partOf(
          request,
          part,
        );
        const wanted = { Job, Submission, EvalPriority, JobModifyIndex, PreserveCounts, PreserveResources };
        const { traceparent } = requester;
        return this.deps.regions.ask(region, registerInRegion, { ...wanted, For: requester.onBehalf }, { traceparent });
      },
    );
    if (answers.errors.length > 0)
      throw failed(
        `${answers.errors.join('; ')}; nothing is started before all regions have the job: register it again`,
      );
  }

  /** DP-1113: a region that is not listed any more stops the job. Tried again in this process only. */
  private async drop(region: string, { Namespace, ID }: Job, requester: Requester): Promise<void> {
    const { regions, timers, logger } = this.deps;
    const wanted = { Namespace, ID, Purge: false, EvalPriority: 0, NoShutdownDelay: false, For: requester.onBehalf };
    let pauseMs = FIRST_DROP_RETRY_MS;
    for (let attempt = 1; attempt <= MAX_DROP_ATTEMPTS; attempt++) {
      try {
        await regions.ask(region, deregisterInRegion, wanted);
        return;
      } catch (error) {
        logger.warn('a region that a job does not list any more has not stopped it yet', { region, job: ID, error });
      }
      const waited = pauseMs;
      await new Promise<void>((resolve) => void timers.after(waited, resolve));
      pauseMs = Math.min(pauseMs * 2, MAX_DROP_RETRY_MS);
    }
  }
}

function partOf(request: RegisterJobRequest, { job, jobModifyIndex }: RegionPart): RegisterJobRequest {
  return { ...request, Job: job, EnforceIndex: true, JobModifyIndex: jobModifyIndex, isPartOfRollout: true };
}
