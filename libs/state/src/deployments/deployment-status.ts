import {
  isActiveDeployment,
  rfc3339FromNs,
  type Deployment,
  type DeploymentState,
  type DeploymentStatusUpdate,
  Refusal,
} from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import { upsertEvaluation } from '../evaluations/eval-upsert.js';
import { upsertJob } from '../jobs/job-upsert.js';
import { setStable } from '../jobs/job-versions.js';
import { namespacedKey } from '../machine/tables.js';
import type { Write } from '../machine/write.js';

/**
 * Type 14: sets a deployment's status (ST-123 to ST-126). The evaluation does not change the job's status by itself
 * (ST-73).
 */
export function updateDeploymentStatus(w: Write, payload: TxnPayloads['DeploymentStatusUpdate']): void {
  const deployment = activeDeployment(w, payload.Update.DeploymentID);
  const { Update: update, UpdatedAt: updatedAtNs } = payload;
  applyStatusAndRevert(w, deployment, { update, updatedAtNs, revert: payload });
  if (payload.Eval) upsertEvaluation(w, payload.Eval);
}

/** Fields of a status update that reverts the job to an old version. */
export type Revert = Pick<
  TxnPayloads['DeploymentStatusUpdate'],
  'Job' | 'RevertSuffix' | 'SubmissionFrom' | 'TrackedVersions' | 'Eval'
>;

/** A new status, and the old version of the job that is wanted back with it. */
export interface StatusAndRevert {
  readonly update: DeploymentStatusUpdate;
  readonly updatedAtNs: number;
  readonly revert: Revert;
}

/** Sets the status, then reverts the job if its current version is still the one rolled out (ST-126, ST-132). */
export function applyStatusAndRevert(
  w: Write,
  deployment: Deployment,
  { update, updatedAtNs, revert }: StatusAndRevert,
): void {
  const reverts = revert.Job !== null && isCurrentVersion(w, deployment);
  const StatusDescription = update.StatusDescription + (reverts ? revert.RevertSuffix : '');
  putDeploymentStatus(w, deployment, { ...update, StatusDescription }, updatedAtNs);
  if (!revert.Job || !reverts) return;
  upsertJob(w, revert.Job, {
    submission: null,
    submissionFrom: revert.SubmissionFrom ?? null,
    trackedVersions: revert.TrackedVersions,
    evaluation: revert.Eval,
  });
}

/** The deployment, if it may still change; refuses otherwise (ST-123). */
export function activeDeployment(w: Write, id: string): Deployment {
  const deployment = w.tables.deployment.get(id);
  if (!deployment) throw new Refusal('not-found', `Deployment ID "${id}" couldn't be updated as it does not exist`);
  if (!isActiveDeployment(deployment)) {
    throw new Refusal('conflict', `Deployment "${id}" has terminal status "${deployment.Status}":`);
  }
  return deployment;
}

/**
 * Sets status and description, with a new deadline if it continues or pauses (ST-124), and a stable version if it
 * succeeds (ST-125).
 */
export function putDeploymentStatus(
  w: Write,
  deployment: Deployment,
  update: DeploymentStatusUpdate,
  updatedAtNs: number,
): void {
  const restarts = update.Status === 'running' || update.Status === 'paused';
  w.put('deployment', {
    ...deployment,
    TaskGroups: restarts ? withFreshDeadlines(deployment.TaskGroups, updatedAtNs) : deployment.TaskGroups,
    ...(deployment.IsMultiregion && update.Status === 'running' && { HasRun: true }),
    Status: update.Status,
    StatusDescription: update.StatusDescription,
    ModifyIndex: w.index,
    ModifyTime: updatedAtNs,
  });
  if (update.Status === 'successful') markVersionStable(w, deployment);
}

/** Marks the deployment's job version as stable (DP-207). */
export function markVersionStable(w: Write, deployment: Deployment): void {
  setStable(
    w,
    {
      namespace: deployment.Namespace,
      jobId: deployment.JobID,
      version: deployment.JobVersion,
      jobCreateIndex: deployment.JobCreateIndex,
    },
    true,
  );
}

function withFreshDeadlines(groups: Record<string, DeploymentState>, atNs: number): Record<string, DeploymentState> {
  return Object.fromEntries(
    Object.entries(groups).map(([name, state]) => [
      name,
      state.ProgressDeadline === 0
        ? state
        : { ...state, RequireProgressBy: rfc3339FromNs(atNs + state.ProgressDeadline) },
    ]),
  );
}

/** Whether the job's current version is the deployment's: a revert never overwrites a newer registration (DP-810). */
function isCurrentVersion(w: Write, deployment: Deployment): boolean {
  const job = w.tables.jobs.get(namespacedKey(deployment.Namespace, deployment.JobID));
  return job?.Version === deployment.JobVersion && job.CreateIndex === deployment.JobCreateIndex;
}
