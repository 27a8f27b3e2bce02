import { isActiveDeployment, isTerminalAllocation, type Job } from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import { purgeJob } from './job-purge.js';
import { versionsOf } from './job-versions.js';
import { namespacedKey } from '../machine/tables.js';
import type { Write } from '../machine/write.js';

/*
 * Deletions by garbage collection, except those of evaluations with their allocations (eval-delete.ts) and of nodes
 * (node-register.ts). The scanner decided which rows are old (ST-165). When the transaction is applied, each row is
 * checked again: a missing row is skipped, and a row that was written since the scan stays (ST-16). Neither is an
 * error.
 */

/** Type 26: purges jobs that are over (ST-68). Cost: O(rows of the jobs). */
export function purgeCollectedJobs(w: Write, { Jobs, ScanIndex }: TxnPayloads['JobBatchDeregister']): void {
  for (const { Namespace, ID } of Jobs) {
    const job = w.tables.jobs.get(namespacedKey(Namespace, ID));
    if (job && isAsScanned(w, job, ScanIndex)) purgeJob(w, job);
  }
}

/**
 * Whether nothing of the job was written since the scan: neither the job, nor a version by a tag (ST-90), nor its
 * evaluations and allocations. So a purge ends no running task (GC-47).
 */
function isAsScanned({ tables }: Write, job: Job, scanIndex: number): boolean {
  const key = namespacedKey(job.Namespace, job.ID);
  return (
    isOld(job, scanIndex) &&
    versionsOf({ tables }, job.Namespace, job.ID).every(({ VersionTag }) => VersionTag === null) &&
    everyRow(tables.evals.by('job', key), (row) => isOld(row, scanIndex)) &&
    everyRow(tables.allocs.by('job', key), (row) => isOld(row, scanIndex))
  );
}

/** Type 17: deletes deployments, except active ones and those with a living allocation (GC-47, GC-53). */
export function deleteDeployments(w: Write, { DeploymentIDs, ScanIndex }: TxnPayloads['DeploymentDelete']): void {
  for (const id of DeploymentIDs) {
    const deployment = w.tables.deployment.get(id);
    if (!deployment || !isOld(deployment, ScanIndex) || isActiveDeployment(deployment)) continue;
    if (everyRow(w.tables.allocs.by('deployment', id), isTerminalAllocation)) w.remove('deployment', id);
  }
}

const isOld = ({ ModifyIndex }: { readonly ModifyIndex: number }, scanIndex: number): boolean =>
  ModifyIndex <= scanIndex;

function everyRow<Row>(rows: Iterable<Row>, holds: (row: Row) => boolean): boolean {
  for (const row of rows) if (!holds(row)) return false;
  return true;
}
