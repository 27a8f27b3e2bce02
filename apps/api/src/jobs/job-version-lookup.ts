import type { Job } from '@waybill/model';

/** What is read of a job and its kept versions. */
export interface JobVersionLookup {
  job(namespace: string, id: string): Promise<{ readonly row: Job | undefined }>;
  jobVersions(namespace: string, id: string): Promise<{ readonly rows: readonly Job[] }>;
}
