import { type Clock, isParameterized, isPeriodic, type Job, nsFromMs } from '@waybill/model';
import type { QueuedOfJob, QueuedPlacementsResponse } from '@waybill/rpc';
import { compareText, namespacedKey, type Stage } from '@waybill/state';
import { passOver } from './dry-run.js';

/** Time after which an answer is given, with the jobs checked until then, because the workers share the thread. */
export const PAGE_MS = 200;

/**
 * Queued placements of each job by a dry run of the scheduler, for the jobs whose stored summary differs (GC-118).
 * Parents of other jobs place nothing themselves. Nothing is written. Cost: one scheduling pass for each job, for about
 * PAGE_MS; and sorting the names of all jobs.
 * @param after key of the job after which to continue
 */
export function queuedPlacementsOf(
  state: Stage,
  after: string,
  { clock, newId }: { readonly clock: Clock; readonly newId: () => string },
): QueuedPlacementsResponse {
  const { tables } = state;
  const startedAtMs = clock.nowMs();
  const Queued: QueuedOfJob[] = [];
  const keys = [...tables.jobs.entries()].flatMap(([key]) => (key > after ? [key] : [])).toSorted(compareText);
  for (const key of keys) {
    const job = tables.jobs.get(key);
    if (job && !isPeriodic(job) && !isParameterized(job)) {
      const { wanted } = passOver(state, job, state.appliedIndex, { nowNs: nsFromMs(startedAtMs), newId });
      const Groups = Object.fromEntries(job.TaskGroups.map(({ Name }) => [Name, wanted[Name] ?? 0]));
      if (!isStored(state, job, Groups)) Queued.push({ Namespace: job.Namespace, JobID: job.ID, Groups });
    }
    if (clock.nowMs() - startedAtMs >= PAGE_MS) return { Queued, Next: key };
  }
  return { Queued, Next: '' };
}

function isStored({ tables }: Stage, job: Job, groups: Readonly<Record<string, number>>): boolean {
  const stored = tables.job_summary.get(namespacedKey(job.Namespace, job.ID))?.Summary;
  return stored !== undefined && Object.entries(groups).every(([name, queued]) => stored[name]?.Queued === queued);
}
