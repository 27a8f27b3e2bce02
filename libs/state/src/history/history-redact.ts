import { type Allocation, isClientTerminal, type Job, Refusal } from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import type { Appliers } from '../machine/applier.js';
import { oldestFirst } from '../machine/row-order.js';
import { namespacedKey, SINGLETON_KEY, versionKey } from '../machine/tables.js';
import type { Write } from '../machine/write.js';
import { withTexts } from './redacted-text.js';

export const historyAppliers: Appliers<'HistoryRedact' | 'HistoryErase'> = {
  HistoryRedact: redactHistory,
  HistoryErase: eraseHistory,
};

type Version = TxnPayloads['HistoryRedact']['Versions'][number];

/**
 * Type 105: replaces texts in stored jobs (ST-185). Indexes of versions and of allocations stay, so no machine reads an
 * allocation again and no scheduler sees a new job. O(rows written).
 */
function redactHistory(w: Write, { Versions, Submissions, Allocs }: TxnPayloads['HistoryRedact']): void {
  for (const version of Versions) redactVersion(w, version);
  for (const { Namespace, JobID, Version, JobModifyIndex, Texts } of Submissions) {
    const stored = w.tables.job_submission.get(versionKey(Namespace, JobID, Version));
    if (stored?.JobModifyIndex === JobModifyIndex) w.put('job_submission', withTexts(stored, Texts));
  }
  for (const { ID, Texts } of Allocs) {
    const stored = w.tables.allocs.get(ID);
    if (!stored) continue;
    mustHaveEnded(stored);
    w.put('allocs', { ...withTexts(stored, Texts), ModifyIndex: w.index });
  }
}

function redactVersion(w: Write, { Namespace, JobID, CreateIndex, Version, Texts }: Version): void {
  const key = namespacedKey(Namespace, JobID);
  const isMeant = (job: Job | null | undefined): job is Job =>
    job?.CreateIndex === CreateIndex && job.Version === Version;
  const current = w.tables.jobs.get(key);
  if (isMeant(current)) {
    if (current.Status !== 'dead')
      throw new Refusal('conflict', `job "${JobID}" in namespace "${Namespace}" uses version ${Version}`);
    w.put('jobs', { ...withTexts(current, Texts), ModifyIndex: w.index });
  }
  const stored = w.tables.job_version.get(versionKey(Namespace, JobID, Version));
  if (isMeant(stored)) w.put('job_version', { ...withTexts(stored, Texts), ModifyIndex: w.index });
  // Allocations of a version share one job, and share its replacement.
  const redacted = new Map<Job, Job>();
  for (const alloc of oldestFirst(w.tables.allocs.by('job', key))) {
    const { Job: job } = alloc;
    if (!isMeant(job)) continue;
    mustHaveEnded(alloc);
    let after = redacted.get(job);
    if (!after) redacted.set(job, (after = withTexts(job, Texts)));
    w.put('allocs', { ...alloc, Job: after, ModifyIndex: w.index });
  }
}

function mustHaveEnded(alloc: Allocation): void {
  if (!isClientTerminal(alloc)) throw new Refusal('conflict', `allocation "${alloc.ID}" of job "${alloc.JobID}" runs`);
}

/** Type 106: the log and the events before this transaction are to be removed (ST-186). Padding erases nothing. */
function eraseHistory(w: Write, { Padding }: TxnPayloads['HistoryErase']): void {
  if (Padding !== '') return;
  const stored = w.tables.cluster_meta.get(SINGLETON_KEY);
  if (!stored) throw new Refusal('conflict', 'the cluster has no identity yet: try again when its roles have holders');
  w.put('cluster_meta', { ...stored, ErasedBefore: w.index, ModifyIndex: w.index });
}
