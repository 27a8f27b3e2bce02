import type { Deployment, Job } from '@waybill/model';
import { regionsOf } from '@waybill/model/multiregion';
import type { ApiClient } from '../server/api-client.js';
import { isInterrupt } from '../failure.js';
import { jobPath } from './resolve-job.js';
import { table } from '../terminal/table.js';

/**
 * CL-612: how far the rollout that this deployment is a part of is in each region of its job, sorted by region. Cost: the
 * job, and one read in each region, all at once.
 * @param shownId how an ID is printed
 * @throws what reading the job fails with; a region that cannot be read is said so in its row
 */
export async function multiregionTable(
  api: ApiClient,
  { JobID, JobVersion, Namespace: namespace }: Deployment,
  shownId: (id: string) => string,
): Promise<string> {
  const { value: job } = await api.get<Job>(jobPath(JobID), { namespace });
  const names = regionsOf(job)
    .map(({ Name }) => Name)
    .toSorted();
  const rows = names.map(async (region) => {
    try {
      const there = api.within({ region });
      const { value } = await there.get<Deployment[] | null>(jobPath(JobID, '/deployments'), { namespace });
      const peer = value?.find((one) => one.IsMultiregion && one.JobVersion === JobVersion);
      return [region, peer && shownId(peer.ID), peer?.Status];
    } catch (error) {
      if (isInterrupt(error)) throw error;
      return [`${region} (error)`, '', ''];
    }
  });
  return table([['Region', 'ID', 'Status'], ...(await Promise.all(rows))]);
}
