import type { Job, JobSubmission } from '@waybill/model';
import { namespacedKey, versionKey } from '../machine/tables.js';
import type { Write } from '../machine/write.js';

/** Tracked versions for transactions that do not carry the number (ST-84). */
export const DEFAULT_TRACKED_VERSIONS = 6;

/** Writes the row of the job's version and drops the ones beyond `tracked` untagged rows (ST-84). O(versions kept). */
export function putVersion(w: Write, job: Job, tracked: number): void {
  w.put('job_version', job);
  pruneVersions(w, job, tracked);
}

/** Drops the rows beyond `tracked` untagged ones, never that of the current version (ST-84). O(versions kept). */
export function pruneVersions(w: Write, current: Job, tracked: number): void {
  const oldestFirst = [...w.tables.job_version.by('job', namespacedKey(current.Namespace, current.ID))]
    .filter((row) => row.VersionTag === null)
    .toSorted((a, b) => a.Version - b.Version);
  // A stopped version does not count as stable (DP-952).
  const newestStable = oldestFirst.findLast((row) => row.Stable && !row.Stop);
  // The current version stays too: if one version is tracked, the stable one would displace it.
  const droppable = oldestFirst.filter((row) => row !== newestStable && row.Version !== current.Version);
  for (const row of droppable.slice(0, Math.max(0, oldestFirst.length - tracked))) {
    w.remove('job_version', versionKey(row.Namespace, row.ID, row.Version));
  }
}

/** Versions of a job, newest first (ST-85). */
export function versionsOf(w: Pick<Write, 'tables'>, namespace: string, jobId: string): Job[] {
  return [...w.tables.job_version.by('job', namespacedKey(namespace, jobId))].toSorted((a, b) => b.Version - a.Version);
}

/** Stored submissions of a job, newest first. */
export function submissionsOf(w: Pick<Write, 'tables'>, namespace: string, jobId: string): JobSubmission[] {
  const rows = [...w.tables.job_submission.by('job', namespacedKey(namespace, jobId))];
  return rows.toSorted((a, b) => b.JobModifyIndex - a.JobModifyIndex || b.Version - a.Version);
}

/** Identifies a version. A number alone may be that of an earlier job of the same name. */
interface VersionName {
  readonly namespace: string;
  readonly jobId: string;
  readonly version: number;
  readonly jobCreateIndex: number;
}

/**
 * Marks a version as stable or not, without a new version; the job's row only if it is that version (ST-87). An unknown
 * version or an equal value changes nothing.
 */
export function setStable(w: Write, { namespace, jobId, version, jobCreateIndex }: VersionName, stable: boolean): void {
  const row = w.tables.job_version.get(versionKey(namespace, jobId, version));
  if (!row || row.CreateIndex !== jobCreateIndex || row.Stable === stable) return;
  const marked: Job = { ...row, Stable: stable, ModifyIndex: w.index };
  w.put('job_version', marked);
  const current = w.tables.jobs.get(namespacedKey(namespace, jobId));
  if (current?.Version === version && current.CreateIndex === jobCreateIndex) w.put('jobs', marked);
}

/**
 * Stores the submission of a new version: the given one, or else a copy of that of version `from`, unless one is stored
 * (ST-58). At most `tracked` for each job, newest by JobModifyIndex (ST-86).
 */
export function putSubmission(
  w: Write,
  job: Job,
  text: { readonly given: JobSubmission | null; readonly from: number | null },
  tracked: number,
): void {
  if (w.tables.job_submission.has(versionKey(job.Namespace, job.ID, job.Version))) return;
  const source =
    text.given ??
    (text.from === null ? undefined : w.tables.job_submission.get(versionKey(job.Namespace, job.ID, text.from)));
  if (!source) return;
  w.put('job_submission', {
    ...source,
    Namespace: job.Namespace,
    JobID: job.ID,
    Version: job.Version,
    JobModifyIndex: w.index,
  });
  for (const old of submissionsOf(w, job.Namespace, job.ID).slice(tracked)) {
    w.remove('job_submission', versionKey(old.Namespace, old.JobID, old.Version));
  }
}
