import type { Job, JobDiff } from '@waybill/model';
import type { Answer, ApiClient, Query } from '../server/api-client.js';
import { failed } from '../failure.js';
import { jobPath } from './resolve-job.js';

export interface JobVersions {
  readonly Versions: readonly Job[] | null;
  /** Null unless they were requested. */
  readonly Diffs: readonly JobDiff[] | null;
}

/** Reads the retained versions of a job, newest first. @throws CommandFailure */
export function jobVersions(api: ApiClient, id: string, query: Query = {}): Promise<Answer<JobVersions>> {
  return api.get<JobVersions>(jobPath(id, '/versions'), query).catch((error: unknown) => {
    throw failed('retrieving job versions', error);
  });
}

export const tagPath = (id: string, name: string): string => jobPath(id, `/versions/${encodeURIComponent(name)}/tag`);
