import { isFromOlderJob, isLive } from './classification.js';
import { disconnect, keepFinished, reconnect, stopLost, stopReplaced, waitForLost } from './group-absences.js';
import { findCanaries, newCanaries, setCanariesAside, stopUnneededCanaries } from './group-canaries.js';
import type { GroupDraft } from './group-draft.js';
import { migrateAway, placeMissing } from './group-placements.js';
import { delayReschedules, filterForRescheduling } from './group-rescheduling.js';
import { stopSurplus } from './group-surplus.js';
import { dropReplacedUnknown, replaceDestructive, updateRest } from './group-updates.js';
import { NameIndex } from './name-index.js';

/** The figures that decide whether a group is done. */
interface Progress {
  /** Updated in place or destructively. */
  readonly updated: number;
  /** Missing placements, made or not. */
  readonly wanted: number;
  /** Whether the group waits for an agent. */
  readonly waits: boolean;
}

/**
 * The steps of 14.1 for one group of a running job, in order. Cost: O(allocations of the group), times log where names
 * are ordered.
 *
 * @returns whether the group is as its deployment wants it, if there is one (SC-240)
 */
export function reconcileGroup(draft: GroupDraft): boolean {
  const { buckets, job, group } = draft;
  stopUnneededCanaries(draft);
  findCanaries(draft);
  classify(draft);
  keepFinished(draft);
  stopReplaced(draft);
  filterForRescheduling(draft);
  reconnect(draft);
  for (const item of buckets.expiring) buckets.lost.push(item);
  disconnect(draft);
  const wait = waitForLost(draft);
  delayReschedules(draft);
  const named = new Set([...buckets.untainted, ...buckets.migrate, ...draft.rescheduleNow, ...buckets.lost]);
  const names = new NameIndex(job.ID, group.Name, group.Count, [...named]);
  stopLost(draft, wait);
  stopSurplus(draft, names);
  const updates = updateRest(draft);
  const destructive = dropReplacedUnknown(draft, names, updates.destructive);
  setCanariesAside(draft);
  const canaries = newCanaries(draft, names, updates.destructive);
  const placements = placeMissing(draft, names, canaries, wait);
  replaceDestructive(draft, names, destructive, placements.made);
  migrateAway(draft, names);
  const progress: Progress = {
    updated: updates.count,
    wanted: placements.wanted,
    waits: wait.delayed,
  };
  attachToDeployment(draft, progress);
  draft.out.desired[group.Name] = draft.desired;
  return isComplete(draft, progress);
}

/** Sorts the allocations into buckets (SC-157, SC-158). */
function classify(draft: GroupDraft): void {
  for (const alloc of draft.allocs) {
    // A new version of a batch job runs again.
    const isFormer = draft.isBatch && !isLive(alloc) && isFromOlderJob(alloc, draft.job);
    const bucket = isFormer ? 'ignore' : draft.bucketOf(alloc);
    if (bucket === 'ignore') draft.desired.Ignore++;
    else draft.buckets[bucket].push(alloc);
  }
}

/** Attaches the group to the deployment, if the rollout needs one (SC-236, SC-237). */
function attachToDeployment({ state, known, rollout, group, allocs, job }: GroupDraft, progress: Progress): void {
  if (!state || rollout.isFailed) return;
  if (known) {
    if (known.DesiredCanaries !== state.DesiredCanaries) rollout.attachGroup(group.Name, state);
    return;
  }
  state.DesiredTotal = progress.updated + progress.wanted;
  if (state.DesiredTotal === 0) return;
  const runsAlready = allocs.some(({ Job }) => Job?.Version === job.Version && Job.CreateIndex === job.CreateIndex);
  if (progress.updated > 0 || !runsAlready) rollout.attachGroup(group.Name, state);
}

/**
 * Whether the group needs nothing and waits for nothing, which counts only if there is a deployment (SC-240). Canaries
 * that are still to be placed belong to updates, or to a state that is not promoted: they need no check of their own.
 */
function isComplete({ buckets, desired, known }: GroupDraft, { updated, wanted, waits }: Progress): boolean {
  if (waits || updated + wanted + buckets.migrate.length + desired.RescheduleLater > 0) return false;
  if (!known) return true;
  const { HealthyAllocs, DesiredTotal, DesiredCanaries, Promoted } = known;
  return HealthyAllocs >= Math.max(DesiredTotal, DesiredCanaries) && (DesiredCanaries === 0 || Promoted);
}
