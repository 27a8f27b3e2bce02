import type { CurrentJobs } from './current-jobs.js';
import type { Job } from '@waybill/model';
import { badRequest, notFound, conflict } from '../http/api-error.js';
import { asObject, memberOf, stringOf, uintOf } from '../http/json-members.js';
import type { Requester } from '../http/requester.js';
import type { JobVersionLookup } from './job-stability.js';
import type { Registered, RegisterJob } from './register-job.js';

export interface RevertRequest {
  readonly version: number;
  /** The version that must be the current one. With null any version may be current. */
  readonly enforcePriorVersion: number | null;
}

/** Decodes a request to revert a job (API-163). @throws Refusal invalid, DecodeError */
export function readRevertRequest(json: unknown, pathJobId: string): RevertRequest {
  const body = asObject(json, 'JobRevertRequest');
  const id = stringOf(body, 'JobID');
  if (id === '') throw badRequest('JobID must be specified');
  if (id !== pathJobId) throw badRequest('Job ID does not match');
  const enforced = memberOf(body, 'EnforcePriorVersion') !== undefined;
  return {
    version: uintOf(body, 'JobVersion'),
    enforcePriorVersion: enforced ? uintOf(body, 'EnforcePriorVersion') : null,
  };
}

/**
 * RevertJob registers the contents of a kept version as a new version, in the same way as every registration (DP-956,
 * DP-957).
 */
export class RevertJob {
  constructor(
    private readonly jobs: Pick<CurrentJobs, 'job'>,
    private readonly register: Pick<RegisterJob, 'register'>,
    private readonly read: JobVersionLookup,
  ) {}

  /** @throws Refusal */
  async revert(namespace: string, id: string, wanted: RevertRequest, requester: Requester): Promise<Registered> {
    const { row: current } = await this.jobs.job(namespace, id);
    if (!current) throw notFound(`job "${id}" not found`);
    if (current.Version === wanted.version) throw badRequest("can't revert to current version");
    const { rows } = await this.read.jobVersions(namespace, id);
    const target = rows.find((row) => row.Version === wanted.version);
    if (!target) throw notFound(`job "${id}" in namespace "${namespace}" at version ${wanted.version} not found`);
    const prior = wanted.enforcePriorVersion;
    if (prior !== null && prior !== current.Version)
      throw conflict(`Current job has version ${current.Version}; enforcing version ${prior}`);
    const request = {
      Job: asNewVersion(target),
      warnings: [],
      Submission: null,
      SubmissionFrom: target.Version,
      EnforceIndex: prior !== null,
      JobModifyIndex: prior !== null ? current.JobModifyIndex : 0,
      PreserveCounts: false,
      PreserveResources: false,
      EvalPriority: 0,
    };
    return this.register.register(request, requester);
  }
}

const asNewVersion = (target: Job): Job => ({ ...target, Stable: false, VersionTag: null });
