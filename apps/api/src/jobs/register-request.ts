import {
  type Clock,
  decodeJob,
  decodeJobToValidate,
  droppedFieldWarnings,
  type GroupScalingEvent,
  type Job,
  type JobSubmission,
  type LoginClusters,
  NO_LOGIN_CLUSTERS,
  nsFromMs,
  regionsOf,
} from '@waybill/model';
import { badRequest } from '../http/api-error.js';
import {
  asObject,
  boolOf,
  intOf,
  type JsonObject,
  memberOf,
  objectOf,
  stringOf,
  uintOf,
} from '../http/json-members.js';
import { param, type QueryString } from '../http/query-string.js';

/** SubmittedJob is a decoded job: complete, in its namespace and region. */
export interface SubmittedJob {
  readonly Job: Job;
  /** Warnings about what the stored form of the job no longer shows (API-314). */
  readonly warnings: readonly string[];
}

/** AtHome says which region a request is for. */
export interface AtHome {
  /** The region that registers or plans the job (API-101). */
  readonly home: string;
}

export interface PlanJobWish extends SubmittedJob {
  /** Says whether the answer compares the job with the stored one. */
  readonly Diff: boolean;
}

export interface RegisterJobRequest extends SubmittedJob {
  readonly Submission: JobSubmission | null;
  /** The version whose submission the new version inherits if the request has none (ST-58). */
  readonly SubmissionFrom?: number;
  readonly EnforceIndex: boolean;
  readonly JobModifyIndex: number;
  readonly PreserveCounts: boolean;
  readonly PreserveResources: boolean;
  readonly EvalPriority: number;
  /** The trigger of the evaluation. If it is absent, it is `job-register`. */
  readonly Trigger?: 'job-scaling';
  /**
   * Is set if the job is this region's part of a multiregion job. It is written even if nothing changes here (DP-1107).
   */
  readonly isPartOfRollout?: true;
  /** The scaling event that is written with the new version in one transaction. */
  readonly Scaling?: GroupScalingEvent;
}

/** RegisterRequests decodes register requests in the region of this control plane. */
export class RegisterRequests {
  constructor(
    private readonly region: string,
    private readonly clock: Clock,
    private readonly logins: LoginClusters = NO_LOGIN_CLUSTERS,
  ) {}

  /**
   * @param pathJobId the job in the path, if it names one; it must equal the body's
   * @throws Refusal invalid, DecodeError
   */
  readRegistration(json: unknown, query: QueryString, pathJobId: string | undefined): RegisterJobRequest & AtHome {
    const body = asObject(json, 'JobRegisterRequest');
    const submitted = this.readSubmitted(body, query);
    const { ID, Namespace } = submitted.Job;
    if (pathJobId !== undefined && pathJobId !== ID) throw badRequest('Job ID does not match name');
    return {
      ...submitted,
      Submission: submissionOf(objectOf(body, 'Submission'), Namespace, ID),
      EnforceIndex: boolOf(body, 'EnforceIndex'),
      JobModifyIndex: uintOf(body, 'JobModifyIndex'),
      PreserveCounts: boolOf(body, 'PreserveCounts'),
      PreserveResources: boolOf(body, 'PreserveResources'),
      EvalPriority: checkedEvalPriority(intOf(body, 'EvalPriority')),
    };
  }

  /** Decodes a request to plan a job (API-140). @throws Refusal invalid, DecodeError */
  readPlan(json: unknown, query: QueryString, pathJobId: string): PlanJobWish & AtHome {
    const body = asObject(json, 'JobPlanRequest');
    const job = objectOf(body, 'Job');
    if (job && memberOf(job, 'ID') === undefined) throw badRequest('Job must have a valid ID');
    const submitted = this.readSubmitted(body, query);
    if (submitted.Job.ID !== pathJobId) throw badRequest('Job ID does not match');
    return { ...submitted, Diff: boolOf(body, 'Diff') };
  }

  /**
   * Decodes a job that is only checked, in its own namespace (API-101, API-181). @throws Refusal invalid, DecodeError
   */
  readValidation(json: unknown): SubmittedJob {
    return this.decodeSubmitted(asObject(json, 'JobValidateRequest'), decodeJobToValidate);
  }

  /**
   * Decodes the job and finds its region. A multiregion job has the region `global` until it is expanded (API-101,
   * DP-1101).
   */
  private readSubmitted(body: JsonObject, query: QueryString): SubmittedJob & AtHome {
    const namespace = param(query, 'namespace') || stringOf(body, 'Namespace');
    const { Job: job, warnings } = this.decodeSubmitted(body, decodeJob, namespace);
    const named = this.regionOf(stringOf(body, 'Region') || param(query, 'region') || job.Region);
    const listed = regionsOf(job).map(({ Name }) => Name);
    const home = listed.includes(named) ? named : (listed[0] ?? named);
    const Region = listed.length > 0 ? 'global' : home;
    return { Job: { ...job, Region }, warnings, home };
  }

  private decodeSubmitted(body: JsonObject, decode: typeof decodeJobToValidate, namespace = ''): SubmittedJob {
    const json = memberOf(body, 'Job');
    if (json === undefined) throw badRequest('Job must be specified');
    const submitTimeNs = nsFromMs(this.clock.nowMs());
    const job = decode(json, { region: this.region, namespace, submitTimeNs, logins: this.logins });
    return { Job: job, warnings: droppedFieldWarnings(json) };
  }

  /** Returns the region that a request names. An empty name and `global` stand for this region (API-43, API-101). */
  private regionOf(named: string): string {
    return named === '' || named === 'global' ? this.region : named;
  }
}

/** Checks the priority of an evaluation; 0 means the job's priority (API-100). @throws Refusal invalid */
export function checkedEvalPriority(priority: number): number {
  if (priority === 0 || (priority >= 1 && priority <= 100)) return priority;
  throw badRequest('Eval priority must be between 1 and 100 inclusively');
}

function submissionOf(
  given: Record<string, unknown> | undefined,
  namespace: string,
  jobId: string,
): JobSubmission | null {
  if (!given) return null;
  const flags = objectOf(given, 'VariableFlags') ?? {};
  return {
    Source: stringOf(given, 'Source'),
    Format: stringOf(given, 'Format'),
    VariableFlags: Object.fromEntries(Object.entries(flags).map(([k, v]) => [k, String(v)])),
    Variables: stringOf(given, 'Variables'),
    Namespace: namespace,
    JobID: jobId,
    Version: 0,
    JobModifyIndex: 0,
  };
}
