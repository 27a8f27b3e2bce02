import { newEvaluation, type Deployment, type Evaluation, type Job, Refusal } from '@waybill/model';
import { namespacedKey, versionKey, type Tables } from '@waybill/state';

/** The job of the deployment does not exist any more (DP-606). */
export class UnknownJobError extends Refusal {
  override readonly name = 'UnknownJobError';
  constructor(deployment: Pick<Deployment, 'ID' | 'JobID'>) {
    super('conflict', `deployment "${deployment.ID}" references unknown job "${deployment.JobID}"`);
  }
}

/**
 * The job version that this deployment rolls out, which may not be the current one (DP-607). @throws UnknownJobError
 */
export function rolledOutJob(tables: Tables, deployment: Deployment): Job {
  const { Namespace, JobID, JobVersion, JobCreateIndex } = deployment;
  const version = tables.job_version.get(versionKey(Namespace, JobID, JobVersion));
  const job = version?.CreateIndex === JobCreateIndex ? version : tables.jobs.get(namespacedKey(Namespace, JobID));
  if (job?.CreateIndex !== JobCreateIndex) throw new UnknownJobError(deployment);
  return job;
}

/** An evaluation of the watcher for the deployment's job (DP-712). @param nowNs unix ns @throws UnknownJobError */
export function watcherEvaluation(tables: Tables, deployment: Deployment, id: string, nowNs: number): Evaluation {
  const job = rolledOutJob(tables, deployment);
  return newEvaluation({
    ID: id,
    Namespace: deployment.Namespace,
    JobID: deployment.JobID,
    Type: job.Type,
    TriggeredBy: 'deployment-watcher',
    DeploymentID: deployment.ID,
    Priority: deployment.EvalPriority || job.Priority,
    CreateTime: nowNs,
  });
}
