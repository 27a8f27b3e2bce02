import type { CurrentJobs } from './current-jobs.js';
import type { Job } from '@waybill/model';
import type { TransactionWriter } from '@waybill/writing';
import { badRequest, notFound } from '../http/api-error.js';
import { asObject, boolOf, stringOf, uintOf } from '../http/json-members.js';
import type { Requester } from '../http/requester.js';

/** JobVersionLookup reads the versions of a job that the read model keeps. */
export interface JobVersionLookup {
  jobVersions(namespace: string, id: string): Promise<{ readonly rows: readonly Job[] }>;
}

export interface StabilityRequest {
  readonly version: number;
  readonly stable: boolean;
}

/** Decodes a request to mark a version as stable (API-164). @throws Refusal invalid, DecodeError */
export function readStabilityRequest(json: unknown, pathJobId: string): StabilityRequest {
  const body = asObject(json, 'JobStabilityRequest');
  const id = stringOf(body, 'JobID');
  if (id === '') throw badRequest('JobID must be specified');
  if (id !== pathJobId) throw badRequest('Job ID does not match');
  return { version: uintOf(body, 'JobVersion'), stable: boolOf(body, 'Stable') };
}

/**
 * JobStability marks one kept version as stable or not stable for a user. This makes no new version and no evaluation
 * (DP-954, DP-955).
 */
export class JobStability {
  constructor(
    private readonly writer: TransactionWriter,
    private readonly jobs: Pick<CurrentJobs, 'awaitReadable'>,
    private readonly read: JobVersionLookup,
  ) {}

  /** Resolves with the index. @throws Refusal */
  async markVersion(namespace: string, id: string, wanted: StabilityRequest, requester: Requester): Promise<number> {
    await this.jobs.awaitReadable(namespace, id);
    const { rows } = await this.read.jobVersions(namespace, id);
    if (!rows.some((row) => row.Version === wanted.version))
      throw notFound(`job "${id}" in namespace "${namespace}" at version ${wanted.version} not found`);
    const payload = { JobID: id, JobVersion: wanted.version, Stable: wanted.stable };
    return (await this.writer.write({ type: 'JobStability', payload, namespace }, requester.author)).index;
  }
}
