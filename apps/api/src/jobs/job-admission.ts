import {
  formatErrors,
  formatWarnings,
  type Job,
  type JobValidation,
  type Namespace,
  namespaceLimitProblems,
  type SchedulerConfiguration,
  validateJob,
} from '@waybill/model';
import { failed } from '../http/api-error.js';
import type { SubmittedJob } from './register-request.js';

/** Allocations that one job may ask for: `job_max_count`. */
export const JOB_MAX_COUNT = 50_000;

/** What admission reads of the read model. */
export interface AdmissionLookup {
  namespace(name: string): Promise<Namespace | undefined>;
  schedulerConfiguration(): Promise<SchedulerConfiguration | undefined>;
}

/**
 * What this control plane has to say of a job before it is registered, planned or validated: what its namespace does not
 * allow first, then what is wrong with the job itself (API-347). Whether its namespace and pool exist is decided when
 * it is written. Cost: two reads of single rows.
 */
export class JobAdmission {
  constructor(private readonly read: AdmissionLookup) {}

  async look(job: Job): Promise<JobValidation> {
    const [namespace, config] = await Promise.all([
      this.read.namespace(job.Namespace),
      this.read.schedulerConfiguration(),
    ]);
    const { errors, warnings } = validateJob(job, {
      jobMaxCount: JOB_MAX_COUNT,
      memoryOversubscription: config?.MemoryOversubscriptionEnabled ?? false,
    });
    return { errors: [...(namespace ? namespaceLimitProblems(job, namespace) : []), ...errors], warnings };
  }

  /** Resolves with all warnings as one text (API-350). @throws ApiError 500 with everything that is wrong (API-102) */
  async admit({ Job: job, warnings: ofDecoding }: SubmittedJob): Promise<string> {
    const { errors, warnings } = await this.look(job);
    if (errors.length > 0) throw failed(formatErrors(errors));
    return formatWarnings([...ofDecoding, ...warnings]);
  }
}
