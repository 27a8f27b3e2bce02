import { type Job, type TaskGroup, Refusal } from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import { upsertEvaluationAndStatus } from '../evaluations/eval-upsert.js';
import { upsertJob } from './job-upsert.js';
import { beginDeployment } from '../deployments/multiregion-deployment.js';
import { putScalingEvent } from './scaling-event.js';
import { dispatchKey, namespacedKey } from '../machine/tables.js';
import type { Write } from '../machine/write.js';

/** Type 4: registers a job (ST-50 to ST-59, ST-61, ST-62). */
export function registerJob(w: Write, register: TxnPayloads['JobRegister']): void {
  const { Job: given, Eval } = register;
  refuseUnknownPlace(w, given);
  const stored = w.tables.jobs.get(namespacedKey(given.Namespace, given.ID));
  if (isDispatchedAlready(w, given)) return;
  if (register.EnforceIndex) refuseConflict(stored, register.JobModifyIndex);
  const job = upsertJob(w, stored ? preserve(stored, register) : given, {
    submission: register.Submission,
    submissionFrom: register.SubmissionFrom,
    trackedVersions: register.TrackedVersions,
    evaluation: Eval,
    deploys: register.Deployment !== undefined,
  });
  if (register.Deployment) beginDeployment(w, register.Deployment, job);
  const deployment = register.Deployment && { DeploymentID: register.Deployment.ID };
  if (Eval) upsertEvaluationAndStatus(w, { ...Eval, ...deployment, JobModifyIndex: w.index });
  if (register.Scaling) putScalingEvent(w, given.Namespace, given.ID, register.Scaling);
}

/** Refuses a namespace or node pool that does not exist (ST-50). */
function refuseUnknownPlace(w: Write, job: Job): void {
  if (!w.tables.namespaces.has(job.Namespace)) {
    throw new Refusal('invalid', `job "${job.ID}" is in nonexistent namespace "${job.Namespace}"`);
  }
  const pool = job.NodePool || 'default';
  if (!w.tables.node_pools.has(pool))
    throw new Refusal('invalid', `job "${job.ID}" is in nonexistent node pool "${pool}"`);
}

/** Whether another child of the same parent has its token, if it has one (ST-51). The verdict's result names it. */
function isDispatchedAlready(w: Write, job: Job): boolean {
  for (const sibling of w.tables.jobs.by('dispatch', dispatchKey(job))) {
    if (sibling.ID === job.ID) continue;
    w.result = { JobID: sibling.ID };
    return true;
  }
  return false;
}

/** Refuses a job whose stored modify index is not the enforced one (ST-52). */
function refuseConflict(stored: Job | undefined, enforced: number): void {
  const conflict = `Enforcing job modify index ${enforced}: `;
  if (!stored && enforced !== 0) throw new Refusal('conflict', `${conflict}job does not exist`);
  if (!stored || stored.JobModifyIndex === enforced) return;
  if (enforced === 0) throw new Refusal('conflict', `${conflict}job already exists`);
  throw new Refusal('conflict', `${conflict}job exists with conflicting job modify index: ${stored.JobModifyIndex}`);
}

/** The job with the counts and resources of the stored one, for groups and tasks in both (ST-56). */
function preserve(stored: Job, register: TxnPayloads['JobRegister']): Job {
  const { Job: given, PreserveCounts, PreserveResources } = register;
  if (!PreserveCounts && !PreserveResources) return given;
  const TaskGroups = given.TaskGroups.map((group) => {
    const old = stored.TaskGroups.find((candidate) => candidate.Name === group.Name);
    if (!old) return group;
    return {
      ...group,
      Count: PreserveCounts ? old.Count : group.Count,
      Tasks: PreserveResources ? withResourcesOf(old, group) : group.Tasks,
    };
  });
  return { ...given, TaskGroups };
}

function withResourcesOf(old: TaskGroup, group: TaskGroup): TaskGroup['Tasks'] {
  return group.Tasks.map((task) => {
    const before = old.Tasks.find((candidate) => candidate.Name === task.Name);
    return before ? { ...task, Resources: before.Resources } : task;
  });
}
