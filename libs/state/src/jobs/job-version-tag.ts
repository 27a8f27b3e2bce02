import { type Job, type JobVersionTag, Refusal } from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import { pruneVersions, versionsOf } from './job-versions.js';
import { namespacedKey, versionKey } from '../machine/tables.js';
import type { Txn } from '../log/txn.js';
import type { Write } from '../machine/write.js';

/** Type 61: tags a stored version, or removes its tag (ST-88, ST-89). */
export function tagJobVersion(
  w: Write,
  { JobID, Version, Latest, Name, Tag, TrackedVersions }: TxnPayloads['JobVersionTag'],
  { namespace }: Txn<'JobVersionTag'>,
): void {
  const current = w.tables.jobs.get(namespacedKey(namespace, JobID));
  const versions = versionsOf(w, namespace, JobID);
  const named = versions.find(({ VersionTag }) => VersionTag?.Name === Name);
  if (!Tag) {
    if (!named) throw new Refusal('not-found', `tag "${Name}" not found on job "${JobID}"`);
    putTag(w, named, null);
    if (current) pruneVersions(w, current, TrackedVersions);
    return;
  }
  const wanted = Latest ? (current?.Version ?? 0) : Version;
  const row = w.tables.job_version.get(versionKey(namespace, JobID, wanted));
  if (!row) throw new Refusal('not-found', `job "${JobID}" version ${wanted} not found`);
  if (named && named.Version !== wanted)
    throw new Refusal('conflict', `tag "${Name}" already exists on a different version of job "${JobID}"`);
  putTag(w, row, Tag);
}

/** Writes the tag to the version's row, and to the job's row if it is that version; no new version. */
function putTag(w: Write, version: Job, VersionTag: JobVersionTag | null): void {
  const tagged: Job = { ...version, VersionTag, ModifyIndex: w.index };
  w.put('job_version', tagged);
  const current = w.tables.jobs.get(namespacedKey(version.Namespace, version.ID));
  if (current?.Version === version.Version && current.CreateIndex === version.CreateIndex) w.put('jobs', tagged);
}
