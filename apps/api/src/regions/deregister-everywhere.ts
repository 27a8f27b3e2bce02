import type { CurrentJobs } from '../jobs/current-jobs.js';
import type { DeregisterOptions } from '../jobs/decisions/deregistration.js';
import { serverFailure } from '../http/api-error.js';
import { regionsOf } from '@waybill/model';
import { deregisterInRegion, type Regions } from '@waybill/rpc';
import type { Requester } from '../http/requester.js';
import type { DeregisterJob, Deregistered } from '../jobs/deregister-job.js';
import { inEachRegion } from './each-region.js';

/**
 * DeregisterEverywhere stops a job here, or in all regions that it lists (DP-1139). A user who stops a job everywhere
 * wants as much of it stopped as possible: if a region does not answer, the others stop the job all the same, and the
 * error names the region. Repeating the request is safe: until every other region has purged the job, it is only
 * stopped here, because a repetition needs its list of regions.
 */
export class DeregisterEverywhere {
  constructor(
    private readonly regions: Regions,
    private readonly deregisterJob: Pick<DeregisterJob, 'deregister'>,
    private readonly jobs: Pick<CurrentJobs, 'job'>,
  ) {}

  /** @throws Refusal */
  async deregister(
    options: DeregisterOptions & { readonly global: boolean },
    requester: Requester,
  ): Promise<Deregistered> {
    const { namespace: Namespace, id: ID } = options;
    const peers = options.global ? await this.peersOf(Namespace, ID) : [];
    const wanted = {
      Namespace,
      ID,
      Purge: options.purge,
      EvalPriority: options.evalPriority,
      NoShutdownDelay: options.noShutdownDelay,
      For: requester.onBehalf,
    };
    const { traceparent } = requester;
    const { errors } = await inEachRegion(peers, (region) =>
      this.regions.askRegion(region, deregisterInRegion, wanted, { traceparent }),
    );
    const here = await this.deregisterJob.deregister(
      { ...options, purge: options.purge && errors.length === 0 },
      requester,
    );
    if (errors.length > 0)
      throw serverFailure(`job "${ID}" was not stopped everywhere, stop it again: ${errors.join('; ')}`);
    return here;
  }

  private async peersOf(namespace: string, id: string): Promise<string[]> {
    const { row: job } = await this.jobs.job(namespace, id);
    const names = job ? regionsOf(job).map(({ Name }) => Name) : [];
    return names.filter((name) => name !== this.regions.own);
  }
}
