import type { AllocListStub } from '@waybill/model';
import type { Call } from '../command-spec.js';
import { CommandFailure, failed } from '../failure.js';
import { jobPath, resolveJob } from '../jobs/resolve-job.js';

/**
 * Chooses an allocation for `-job` and `-group`: a random running one, or else any (CL-416).
 * @param only whether only the newest running version qualifies, because an older one may not have the requested action
 * @throws CommandFailure
 */
export async function allocationOfJob(
  { api, flags, random }: Call,
  given: string,
  only?: 'newest',
): Promise<AllocListStub> {
  const job = await resolveJob(api, given);
  const group = flags.text('group');
  const { value } = await api
    .within({ namespace: job.namespace })
    .get<AllocListStub[] | null>(jobPath(job.id, '/allocations'))
    .catch((error: unknown) => {
      throw failed('fetching allocations', error);
    });
  const all = (value ?? []).filter((alloc) => group === undefined || alloc.TaskGroup === group);
  const running = all.filter((alloc) => alloc.ClientStatus === 'running');
  const possible = running.length > 0 ? running : all;
  const newest = Math.max(...possible.map(({ JobVersion }) => JobVersion));
  const candidates = only === 'newest' ? possible.filter(({ JobVersion }) => JobVersion === newest) : possible;
  const chosen = candidates[Math.floor(random() * candidates.length)];
  if (chosen) return chosen;
  const what = group === undefined ? `job "${job.id}"` : `task group "${group}"`;
  throw new CommandFailure(`Error fetching allocations: ${what} doesn't exist or it has no allocations`);
}
