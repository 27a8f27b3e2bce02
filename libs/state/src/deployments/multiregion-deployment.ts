import { deployedJob, DEPLOYMENT_NEWER_JOB, isActiveDeployment, type Deployment, type Job } from '@waybill/model';
import { putDeploymentStatus } from './deployment-status.js';
import { namespacedKey } from '../machine/tables.js';
import type { Write } from '../machine/write.js';

/**
 * Begins a region's part of a rollout together with its job, and ends the previous deployment (ST-61). O(the job's
 * deployments).
 */
export function beginDeployment(w: Write, given: Deployment, job: Job): void {
  const before = newestOf(w, job);
  if (before && isActiveDeployment(before)) {
    const update = { DeploymentID: before.ID, Status: 'cancelled', StatusDescription: DEPLOYMENT_NEWER_JOB } as const;
    putDeploymentStatus(w, before, update, w.timeNs);
  }
  w.put('deployment', {
    ...given,
    ...deployedJob(job),
    CreateIndex: w.index,
    ModifyIndex: w.index,
    CreateTime: w.timeNs,
    ModifyTime: w.timeNs,
  });
}

function newestOf(w: Write, job: Job): Deployment | undefined {
  let newest: Deployment | undefined;
  for (const deployment of w.tables.deployment.by('job', namespacedKey(job.Namespace, job.ID)))
    if (!newest || deployment.CreateIndex > newest.CreateIndex) newest = deployment;
  return newest;
}
