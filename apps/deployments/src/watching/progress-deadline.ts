import { msFromNs, nsFromRfc3339, type Deployment, type DeploymentState } from '@waybill/model';

/** DP-506: the group owes nothing more: its canaries are healthy and wait for promotion, or all of it is. */
export function isSatisfied(state: DeploymentState): boolean {
  const waitsForPromotion = state.DesiredCanaries > 0 && !state.Promoted;
  return state.HealthyAllocs >= (waitsForPromotion ? state.DesiredCanaries : state.DesiredTotal);
}

/**
 * DP-507: when the first unsatisfied group is due, unix ms; undefined when no clock runs. Only a running deployment can
 * miss a deadline (DP-508). O(groups).
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

/** DP-508: the groups that missed their own deadline. */
export function overdueGroups(deployment: Deployment, nowMs: number): DeploymentState[] {
  if (deployment.Status !== 'running') return [];
  return Object.values(deployment.TaskGroups).filter(
    (state) =>
      state.RequireProgressBy !== null &&
      !isSatisfied(state) &&
      msFromNs(nsFromRfc3339(state.RequireProgressBy)) <= nowMs,
  );
}
