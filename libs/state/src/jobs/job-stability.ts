import type { TxnPayloads } from '../log/catalogue.js';
import { setStable } from './job-versions.js';
import { versionKey } from '../machine/tables.js';
import type { Txn } from '../log/txn.js';
import type { Write } from '../machine/write.js';

/** Type 18: marks a version as stable or not (ST-87, DP-954). An unknown version or an equal value changes nothing. */
export function setJobStability(
  w: Write,
  { JobID, JobVersion, Stable }: TxnPayloads['JobStability'],
  { namespace }: Txn<'JobStability'>,
): void {
  const row = w.tables.job_version.get(versionKey(namespace, JobID, JobVersion));
  if (!row) return;
  setStable(w, { namespace, jobId: JobID, version: JobVersion, jobCreateIndex: row.CreateIndex }, Stable);
}
