import { isLaunched, isLaunchParent, launchMsOf, rfc3339FromMs, msFromNs, type Job } from '@waybill/model';
import { namespacedKey } from '../machine/tables.js';
import type { Write } from '../machine/write.js';

/**
 * Records when a periodic job was launched last (ST-60). An active job gets its row at its first registration, with the
 * transaction's time (ST-4); each launch, registered as its child, moves it to the time in the child's name.
 * @param isNew whether the job was not stored before: registering a child again is no launch
 */
export function recordLaunch(w: Write, job: Job, isNew: boolean): void {
  const key = namespacedKey(job.Namespace, job.ID);
  if (isLaunched(job) && !w.tables.periodic_launch.has(key)) putLaunch(w, job, msFromNs(w.timeNs));
  if (!isNew || job.ParentID === '') return;
  const parent = w.tables.jobs.get(namespacedKey(job.Namespace, job.ParentID));
  const launchMs = launchMsOf(job);
  if (parent && isLaunchParent(parent) && launchMs !== undefined) putLaunch(w, parent, launchMs);
}

function putLaunch(w: Write, { Namespace, ID }: Job, launchMs: number): void {
  const stored = w.tables.periodic_launch.get(namespacedKey(Namespace, ID));
  w.put('periodic_launch', {
    ID,
    Namespace,
    Launch: rfc3339FromMs(launchMs),
    CreateIndex: stored?.CreateIndex ?? w.index,
    ModifyIndex: w.index,
  });
}
