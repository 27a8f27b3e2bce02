import type { Job } from '@waybill/model';
import type { Answer, ApiClient } from './api-client.js';
import { failed } from './failure.js';
import { jobPath } from './resolve-job.js';

export interface JobVersions {
  readonly Versions: readonly Job[] | null;
}

/** The kept versions of a job, newest first. @throws CommandFailure */
export function jobVersions(api: ApiClient, id: string): Promise<Answer<JobVersions>> {
  return api.get<JobVersions>(jobPath(id, '/versions')).catch((error: unknown) => {
    throw failed('retrieving job versions', error);
  });
}
