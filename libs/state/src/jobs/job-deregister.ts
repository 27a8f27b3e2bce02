import { type Evaluation, type Job, type ScalingPolicy, Refusal } from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import { upsertEvaluationAndStatus } from '../evaluations/eval-upsert.js';
import { purgeJob } from './job-purge.js';
import { upsertJob } from './job-upsert.js';
import { oldestFirst } from '../machine/row-order.js';
import { namespacedKey } from '../machine/tables.js';
import type { Txn } from '../log/txn.js';
import type { Write } from '../machine/write.js';

/** Type 5: stops or purges a job (ST-63 to ST-67). Its namespace is the envelope's. */
export function deregisterJob(w: Write, deregister: TxnPayloads['JobDeregister'], txn: Pick<Txn, 'namespace'>): void {
  const Eval: Evaluation | null = deregister.Eval && { ...deregister.Eval, JobModifyIndex: w.index };
  const stored = w.tables.jobs.get(namespacedKey(txn.namespace, deregister.JobID));
  if (!stored) {
    const unknown = `job "${deregister.JobID}" in namespace "${txn.namespace}" doesn't exist to be deregistered`;
    if (!Eval) throw new Refusal('not-found', unknown);
    w.notice = unknown;
  } else {
    if (deregister.Purge) purgeJob(w, stored);
    else stopJob(w, stored, deregister);
    if (deregister.NoShutdownDelay) skipShutdownDelay(w, stored);
  }
  if (Eval) upsertEvaluationAndStatus(w, Eval);
}

/** Stops a job without a purge, as a new version (ST-63). */
function stopJob(w: Write, stored: Job, deregister: TxnPayloads['JobDeregister']): void {
  const stopped: Job = {
    ...stored,
    Stop: true,
    SubmitTime: deregister.SubmitTime || stored.SubmitTime,
    TaskGroups: stored.TaskGroups.map((group) => ({
      ...group,
      Scaling: group.Scaling && disabled(group.Scaling),
      Tasks: group.Tasks.map((task) => ({ ...task, ScalingPolicies: task.ScalingPolicies?.map(disabled) ?? null })),
    })),
  };
  upsertJob(w, stopped, {
    submission: null,
    submissionFrom: stored.Version,
    trackedVersions: deregister.TrackedVersions,
    evaluation: deregister.Eval,
  });
}

const disabled = (policy: ScalingPolicy): ScalingPolicy => ({ ...policy, Enabled: false });

/** Sets `NoShutdownDelay` on the job's allocations (ST-64). O(allocations of the job), at a user's request. */
function skipShutdownDelay(w: Write, job: Job): void {
  for (const alloc of oldestFirst(w.tables.allocs.by('job', namespacedKey(job.Namespace, job.ID)))) {
    if (alloc.Job?.CreateIndex !== job.CreateIndex) continue;
    w.put('allocs', {
      ...alloc,
      DesiredTransition: { ...alloc.DesiredTransition, NoShutdownDelay: true },
      ModifyIndex: w.index,
      AllocModifyIndex: w.index,
    });
  }
}
