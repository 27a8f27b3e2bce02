import {
  nsFromRfc3339,
  rfc3339FromNs,
  type AllocDeploymentStatus,
  type Allocation,
  type DeploymentState,
} from '@waybill/model';
import type { Write } from './write.js';

interface Counted {
  readonly placed: 0 | 1;
  readonly healthy: -1 | 0 | 1;
  readonly unhealthy: 0 | 1;
}

/**
 * Counts an allocation that was written into its deployment (ST-119) and moves the progress deadline of its group
 * (ST-120). `before` is the row that this write replaces.
 */
export function countInDeployment(w: Write, before: Allocation | undefined, after: Allocation): void {
  if (!after.DeploymentID) return;
  const counted = whatCounts(before, after);
  if (!counted) return;
  const deployment = w.tables.deployment.get(after.DeploymentID);
  const state =
    deployment && Object.hasOwn(deployment.TaskGroups, after.TaskGroup) && deployment.TaskGroups[after.TaskGroup];
  if (!deployment || !state) return;
  const next: DeploymentState = {
    ...state,
    PlacedAllocs: state.PlacedAllocs + counted.placed,
    HealthyAllocs: state.HealthyAllocs + counted.healthy,
    UnhealthyAllocs: state.UnhealthyAllocs + counted.unhealthy,
    PlacedCanaries: withCanary(state.PlacedCanaries, after),
    RequireProgressBy: progressDeadline(state, after, counted),
  };
  w.put('deployment', {
    ...deployment,
    TaskGroups: { ...deployment.TaskGroups, [after.TaskGroup]: next },
    ModifyIndex: w.index,
    ModifyTime: after.ModifyTime,
  });
}

const healthOf = (status: AllocDeploymentStatus | null): boolean | null => status?.Healthy ?? null;

/** A placement counts as that only, even if it carries health; from unhealthy there is no way back. */
function whatCounts(before: Allocation | undefined, after: Allocation): Counted | undefined {
  if (before?.DeploymentID !== after.DeploymentID) return { placed: 1, healthy: 0, unhealthy: 0 };
  const was = healthOf(before.DeploymentStatus);
  const is = healthOf(after.DeploymentStatus);
  if (was === null && is === true) return { placed: 0, healthy: 1, unhealthy: 0 };
  if (was === null && is === false) return { placed: 0, healthy: 0, unhealthy: 1 };
  if (was === true && is === false) return { placed: 0, healthy: -1, unhealthy: 1 };
  return undefined;
}

function withCanary(canaries: string[], alloc: Allocation): string[] {
  if (!alloc.DeploymentStatus?.Canary || canaries.includes(alloc.ID)) return canaries;
  return [...canaries, alloc.ID];
}

/** The first placement starts it, a newly healthy allocation may move it forward; nothing moves it back. */
function progressDeadline(state: DeploymentState, alloc: Allocation, counted: Counted): string | null {
  if (state.ProgressDeadline === 0) return state.RequireProgressBy;
  if (counted.placed === 1 && state.RequireProgressBy === null) {
    return rfc3339FromNs(alloc.ModifyTime + state.ProgressDeadline);
  }
  if (counted.healthy !== 1) return state.RequireProgressBy;
  const healthyAtNs = nsFromRfc3339(alloc.DeploymentStatus?.Timestamp ?? null);
  const moved = healthyAtNs + state.ProgressDeadline;
  return healthyAtNs > 0 && moved > nsFromRfc3339(state.RequireProgressBy)
    ? rfc3339FromNs(moved)
    : state.RequireProgressBy;
}
