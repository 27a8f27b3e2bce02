import { findTaskGroup, type Allocation, type Deployment, type DeploymentState } from '@waybill/model';

/** The consequences of the health of a deployment's allocations (DP section 2.7). */
export interface HealthFindings {
  /** Set if the deployment has failed; `reverts` if a group that failed it reverts automatically. */
  readonly failure: { readonly reverts: boolean } | undefined;
  /** IDs of unhealthy allocations that may be rescheduled now. */
  readonly reschedulable: readonly string[];
  /** Whether an allocation became healthy since the last evaluation. */
  readonly wantsEvaluation: boolean;
}

/**
 * Checks every allocation of an active deployment (DP-701 to DP-705). O(allocations of the deployment).
 * @param seenIndex the latest seen index of the job
 * @param nowNs the time by which reschedule attempts are counted, unix ns
 */
export function healthFindings(
  deployment: Deployment,
  allocs: Iterable<Allocation>,
  seenIndex: number,
  nowNs: number,
): HealthFindings {
  let failed = false;
  let reverts = false;
  let wantsEvaluation = false;
  const reschedulable: string[] = [];
  for (const alloc of allocs) {
    const state = stateOf(deployment, alloc);
    const health = alloc.DeploymentStatus;
    if (!state || !health || health.Healthy === null) continue;
    if (health.Healthy) {
      wantsEvaluation ||= health.ModifyIndex > seenIndex;
    } else if (state.ProgressDeadline === 0 || isOutOfAttempts(alloc, nowNs)) {
      failed = true;
      reverts ||= state.AutoRevert;
    } else if (alloc.DesiredTransition.Reschedule !== true) reschedulable.push(alloc.ID);
  }
  return { failure: failed ? { reverts } : undefined, reschedulable, wantsEvaluation };
}

function stateOf(deployment: Deployment, alloc: Allocation): DeploymentState | undefined {
  const { TaskGroups } = deployment;
  return Object.hasOwn(TaskGroups, alloc.TaskGroup) ? TaskGroups[alloc.TaskGroup] : undefined;
}

/**
 * Whether the reschedule policy that the allocation was placed with allows no further attempt (DP-703). @param nowNs
 * unix ns
 */
export function isOutOfAttempts(
  alloc: Pick<Allocation, 'Job' | 'TaskGroup' | 'RescheduleTracker'>,
  nowNs: number,
): boolean {
  const policy = alloc.Job && findTaskGroup(alloc.Job, alloc.TaskGroup)?.ReschedulePolicy;
  if (!policy) return true;
  if (policy.Unlimited) return false;
  if (policy.Attempts === 0) return true;
  const events = alloc.RescheduleTracker?.Events ?? [];
  return events.filter((event) => nowNs - event.RescheduleTime < policy.Interval).length >= policy.Attempts;
}
