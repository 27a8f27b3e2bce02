import { isActiveDeployment, type Deployment, type DeploymentState, Refusal } from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import { markVersionStable, putDeploymentStatus } from '../deployments/deployment-status.js';
import { namespacedKey } from '../machine/tables.js';
import type { Write } from '../machine/write.js';

/** Writes the plan's deployment (ST-114) and its changes of other deployments' status (ST-115). */
export function applyPlanDeployments(w: Write, plan: TxnPayloads['ApplyPlanResults']): void {
  if (plan.Deployment) upsertDeployment(w, plan.Deployment);
  for (const update of plan.DeploymentUpdates) {
    const deployment = w.tables.deployment.get(update.DeploymentID);
    if (deployment && mayBecome(deployment, update.Status)) putDeploymentStatus(w, deployment, update, plan.UpdatedAt);
  }
}

/**
 * Whether a plan may set the status (DP-126). It also prevents that a plan with an older snapshot reverts a step of
 * section 2.2: a started region does not become pending again, and one that unblocks the others does not become blocked
 * again (DP-1122).
 */
function mayBecome(deployment: Deployment, status: Deployment['Status']): boolean {
  if (!isActiveDeployment(deployment)) return false;
  if (status === 'pending') return deployment.Status === 'initializing';
  if (status === 'blocked') return deployment.Status === 'running' || deployment.Status === 'paused';
  return true;
}

/**
 * Stores the plan's deployment. A new one is left out if its job was deleted or stopped meanwhile, as its allocations
 * are (EB-275): nothing would ever end it.
 */
function upsertDeployment(w: Write, planned: Deployment): void {
  const stored = w.tables.deployment.get(planned.ID);
  if (!stored) {
    if (!isWanted(w, planned)) return;
    w.put('deployment', { ...planned, CreateIndex: w.index, ModifyIndex: w.index });
    if (planned.Status === 'successful') markVersionStable(w, planned);
    return;
  }
  w.put('deployment', {
    ...planned,
    TaskGroups: mergedGroups(stored.TaskGroups, planned.TaskGroups),
    Status: stored.Status,
    StatusDescription: stored.StatusDescription,
    ...(stored.HasRun && { HasRun: true }),
    JobVersion: stored.JobVersion,
    JobModifyIndex: stored.JobModifyIndex,
    JobSpecModifyIndex: stored.JobSpecModifyIndex,
    JobCreateIndex: stored.JobCreateIndex,
    CreateTime: stored.CreateTime,
    CreateIndex: stored.CreateIndex,
    ModifyIndex: w.index,
  });
}

const isWanted = ({ tables }: Write, { Namespace, JobID }: Deployment): boolean =>
  tables.jobs.get(namespacedKey(Namespace, JobID))?.Stop === false;

/**
 * The groups with the counters of the stored deployment: allocation updates count them, and a plan with an older
 * snapshot must not reset them.
 */
function mergedGroups(
  stored: Record<string, DeploymentState>,
  planned: Record<string, DeploymentState>,
): Record<string, DeploymentState> {
  const merged: Record<string, DeploymentState> = { ...stored };
  for (const [name, state] of Object.entries(planned)) {
    const old = stored[name];
    if (old?.Promoted && !state.Promoted) throw new Refusal('conflict', 'deployment promotion cannot be undone');
    merged[name] = old
      ? {
          ...state,
          PlacedCanaries: [...new Set([...old.PlacedCanaries, ...state.PlacedCanaries])],
          PlacedAllocs: old.PlacedAllocs,
          HealthyAllocs: old.HealthyAllocs,
          UnhealthyAllocs: old.UnhealthyAllocs,
          RequireProgressBy: old.RequireProgressBy,
        }
      : state;
  }
  return merged;
}
