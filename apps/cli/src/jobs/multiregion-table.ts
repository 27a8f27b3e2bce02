import type { Deployment, Job } from '@waybill/model';
import { regionsOf } from '@waybill/model/multiregion';
import type { ApiClient } from '../server/api-client.js';
import { isInterrupt } from '../failure.js';
import { jobPath } from './resolve-job.js';
import { table } from '../terminal/table.js';

/**
 * Lists the progress of a multiregion rollout in each region of its job, sorted by region (CL-612). Cost: one read of
 * the job and one in each region, all at once.
 * @param shownId formats an ID
 * @throws errors of reading the job; the row of a region that cannot be read shows its error
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
