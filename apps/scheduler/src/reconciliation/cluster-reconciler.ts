import { findTaskGroup, isServerTerminal, type Allocation, type Job } from '@waybill/model';
import { compareText } from '@waybill/state';
import { bucketOf, isLive, lostStop, mayRewrite } from './classification.js';
import { DELAYED_RESCHEDULE, NOT_NEEDED } from '../descriptions.js';
import { FollowUps, type Due } from './follow-ups.js';
import { GroupDraft } from './group-draft.js';
import { reconcileGroup } from './group-reconciler.js';
import { indexIn } from './name-index.js';
import { ReconciliationDraft } from './reconciliation-draft.js';
import { noUpdates, type ReconcileInput, type Reconciliation } from './reconciliation.js';
import { rescheduleTime } from './reschedule-policy.js';
import { Rollout } from './rollout.js';

/**
 * Compares the allocations that a service or batch job wants with the stored ones (section 14). Pure: job, allocations
 * and deployments are not changed. Cost: O(allocations of the job), times log where names are ordered.
 */
export function reconcile(input: ReconcileInput): Reconciliation {
  const { job, evaluation, newId, nowNs } = input;
  // Types without deployments (SC-244). Jobs of all types are stopped here (API-121), with the deployment of a system
  // job (SC-290).
  const hasDeployments = !job || job.Stop || job.Type === 'service';
  const rollout = new Rollout(job, input.deployment, hasDeployments);
  const out = new ReconciliationDraft(new FollowUps(evaluation, nowNs, newId), rollout);
  const byGroup = groupsOf(input.allocs);
  if (!job || job.Stop) {
    for (const [name, allocs] of byGroup) stopAll(name, allocs.filter(isLive), input, out);
    return finished(out, rollout, input);
  }
  const names = new Set([...job.TaskGroups.map((g) => g.Name), ...byGroup.keys()]);
  let complete = true;
  for (const name of names) {
    const group = findTaskGroup(job, name);
    const stored = byGroup.get(name) ?? [];
    const counting = byIndex(stored.filter((alloc) => counts(alloc, job)));
    if (!group || group.Count === 0) stopAll(name, counting, input, out);
    else if (!reconcileGroup(new GroupDraft({ input, job, group, stored, counting }, out))) complete = false;
  }
  const succeeded = complete ? rollout.completeDeployment() : undefined;
  if (succeeded !== undefined) scheduleFollowup(succeeded, job, input, out);
  return finished(out, rollout, input);
}

/**
 * Schedules follow-ups for allocations that failed after they had been healthy. They were kept while their deployment
 * was active (SC-168), and once it has succeeded nothing else would reschedule them. They get the follow-up that they
 * would have had, if their policy still allows an attempt.
 */
function scheduleFollowup(deploymentId: string, job: Job, input: ReconcileInput, out: ReconciliationDraft): void {
  const due: Due[] = [];
  for (const alloc of input.allocs) {
    if (alloc.DeploymentID !== deploymentId || alloc.ClientStatus !== 'failed' || alloc.NextAllocation !== '') continue;
    if (isServerTerminal(alloc) || out.isStopped(alloc) || !mayRewrite(alloc, input.tainted)) continue;
    const { eligible, atNs } = rescheduleTime(alloc);
    if (alloc.DesiredTransition.ForceReschedule === true) due.push({ alloc, atNs: input.nowNs });
    else if (eligible) due.push({ alloc, atNs: Math.max(atNs, input.nowNs) });
  }
  for (const { alloc, evalId } of out.followUps.cover(job, due, 'alloc-failure', DELAYED_RESCHEDULE))
    out.rewrites.set(alloc.ID, { ...alloc, Job: null, FollowupEvalID: evalId });
}

function finished(out: ReconciliationDraft, rollout: Rollout, input: ReconcileInput): Reconciliation {
  const deployment = rollout.result(input.evaluation, input.newId, input.nowNs);
  return {
    stops: out.stops,
    placements: out.placements,
    destructive: out.destructive,
    rewrites: out.rewrites,
    inPlace: out.inPlace,
    followups: out.followups,
    desired: out.desired,
    deployment,
    deploymentUpdates: rollout.updates,
    deploymentId: rollout.activeId || (rollout.current ? '' : (deployment?.ID ?? '')),
  };
}

function groupsOf(allocs: readonly Allocation[]): Map<string, Allocation[]> {
  const byGroup = new Map<string, Allocation[]>();
  for (const alloc of allocs) {
    const group = byGroup.get(alloc.TaskGroup);
    if (group) group.push(alloc);
    else byGroup.set(alloc.TaskGroup, [alloc]);
  }
  return byGroup;
}

/** Whether the allocation counts for the job (SC-156). */
function counts(alloc: Allocation, job: Job): boolean {
  return !isServerTerminal(alloc) || (job.Type === 'batch' && alloc.DesiredTransition.Reschedule !== true);
}

/** Stops all allocations of a stopped job or a removed group (SC-245 to SC-247). */
function stopAll(name: string, allocs: readonly Allocation[], input: ReconcileInput, out: ReconciliationDraft): void {
  out.desired[name] = { ...noUpdates(), Stop: allocs.length };
  for (const alloc of allocs) {
    if (isServerTerminal(alloc)) continue;
    const bucket = bucketOf(alloc, input.tainted, input.nowNs);
    const lost = bucket === 'lost' || bucket === 'expiring';
    out.stop(lost ? lostStop(alloc, input.nowNs) : { alloc, description: NOT_NEEDED });
  }
}

/** Sorts by the index in the name, then by ID. Each name is parsed once. */
function byIndex(allocs: readonly Allocation[]): Allocation[] {
  return allocs
    .map((alloc) => ({ alloc, index: indexIn(alloc.Name) }))
    .toSorted((a, b) => a.index - b.index || compareText(a.alloc.ID, b.alloc.ID))
    .map(({ alloc }) => alloc);
}
