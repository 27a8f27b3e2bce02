import { type Clock, decodeJob, droppedFieldWarnings, type Job, type JobSubmission, nsFromMs } from '@waybill/model';
import { badRequest, failed } from '../http/api-error.js';
import { asObject, boolOf, intOf, memberOf, objectOf, stringOf } from '../http/json-members.js';
import { param, type QueryString } from '../http/query-string.js';

/** A register request, understood: the job complete, in its namespace and region. */
export interface RegisterJobRequest {
  readonly Job: Job;
  /** What the stored form of the job cannot tell any more (API-314). */
  readonly warnings: readonly string[];
  readonly Submission: JobSubmission | null;
  /** ST-58: version whose text the new one inherits where none is given. */
  readonly SubmissionFrom?: number;
  readonly EnforceIndex: boolean;
  readonly JobModifyIndex: number;
  readonly PreserveCounts: boolean;
  readonly PreserveResources: boolean;
  readonly EvalPriority: number;
}

/** Understands register requests, in the region of this control plane. */
export class RegisterRequests {
  constructor(
    private readonly region: string,
    private readonly clock: Clock,
  ) {}

  /**
   * @param pathJobId where the path names the job, it must be the body's
   * @throws ApiError 400, DecodeError
   */
  read(json: unknown, query: QueryString, pathJobId: string | undefined): RegisterJobRequest {
    const body = asObject(json, 'JobRegisterRequest');
    const jobJson = memberOf(body, 'Job');
    if (jobJson === undefined) throw badRequest('Job must be specified');
    const job = decodeJob(jobJson, { region: this.region, submitTimeNs: nsFromMs(this.clock.nowMs()) });
    const Region = this.regionOf(stringOf(body, 'Region') || param(query, 'region') || job.Region);
    const Namespace = param(query, 'namespace') || stringOf(body, 'Namespace') || job.Namespace;
    if (pathJobId !== undefined && pathJobId !== job.ID) throw badRequest('Job ID does not match name');
    return {
      Job: { ...job, Namespace, Region },
      warnings: droppedFieldWarnings(jobJson),
      Submission: submissionOf(objectOf(body, 'Submission'), Namespace, job.ID),
      EnforceIndex: boolOf(body, 'EnforceIndex'),
      JobModifyIndex: intOf(body, 'JobModifyIndex'),
      PreserveCounts: boolOf(body, 'PreserveCounts'),
      PreserveResources: boolOf(body, 'PreserveResources'),
      EvalPriority: checkedEvalPriority(intOf(body, 'EvalPriority')),
    };
  }

  /** API-43, API-101: `global` in a job means this region. @throws ApiError 500 */
  private regionOf(named: string): string {
    if (named === '' || named === 'global' || named === this.region) return this.region;
    throw failed('No path to region');
  }
}

/** API-100: 0 means the job's own. @throws ApiError 400 */
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
