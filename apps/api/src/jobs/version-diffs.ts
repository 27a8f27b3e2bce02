import { notFound } from '../http/api-error.js';
import { diffJobs, type Job, type JobDiff } from '@waybill/model';
import { boolParam, param, type QueryString } from '../http/query-string.js';

/**
 * Returns the changes of each kept version of a job (API-161). @param versions the versions, newest first @throws
 * Refusal not-found if there is no such version or tag
 */
export function versionDiffs(versions: readonly Job[], query: QueryString): JobDiff[] | null {
  if (boolParam(query, 'diffs') !== true) return null;
  const reference = referenceOf(versions, query);
  if (reference) return versions.map((version) => diffJobs(reference, version));
  const diffs = versions.slice(0, -1).map((version, i) => diffJobs(versions[i + 1] ?? null, version));
  return diffs.length === 0 ? null : diffs;
}

function referenceOf(versions: readonly Job[], query: QueryString): Job | undefined {
  const number = param(query, 'diff_version');
  const tag = param(query, 'diff_tag');
  if (number) {
    const found = versions.find(({ Version }) => String(Version) === number);
    if (!found) throw notFound(`version ${number} not found`);
    return found;
  }
  if (!tag) return undefined;
  const found = versions.find(({ VersionTag }) => VersionTag?.Name === tag);
  if (!found) throw notFound(`tag "${tag}" not found`);
  return found;
}
