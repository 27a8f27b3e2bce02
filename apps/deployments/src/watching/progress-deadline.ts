import { msFromNs, nsFromRfc3339, type Deployment, type DeploymentState } from '@waybill/model';

/**
 * Whether the group has no deadline to meet any more: it is healthy, or its canaries are and wait for promotion
 * (DP-506).
 */
export function isSatisfied(state: DeploymentState): boolean {
  const waitsForPromotion = state.DesiredCanaries > 0 && !state.Promoted;
  return state.HealthyAllocs >= (waitsForPromotion ? state.DesiredCanaries : state.DesiredTotal);
}

/**
 * When the first unsatisfied group is due, unix ms; undefined if no deadline runs (DP-507). Only a running deployment
 * can miss a deadline (DP-508). O(groups).
 */
export function cutoffMs(deployment: Deployment): number | undefined {
  if (deployment.Status !== 'running') return undefined;
  let earliest: number | undefined;
  for (const state of Object.values(deployment.TaskGroups)) {
    if (state.RequireProgressBy === null || isSatisfied(state)) continue;
    const atMs = msFromNs(nsFromRfc3339(state.RequireProgressBy));
    if (earliest === undefined || atMs < earliest) earliest = atMs;
  }
  return earliest;
}

/** The groups that missed their own deadline (DP-508). */
export function overdueGroups(deployment: Deployment, nowMs: number): DeploymentState[] {
  if (deployment.Status !== 'running') return [];
  return Object.values(deployment.TaskGroups).filter(
    (state) =>
      state.RequireProgressBy !== null &&
      !isSatisfied(state) &&
      msFromNs(nsFromRfc3339(state.RequireProgressBy)) <= nowMs,
  );
}
