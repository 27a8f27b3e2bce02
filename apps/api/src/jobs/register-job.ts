import type { Job, SchedulerConfiguration } from '@waybill/model';
import type { Seen, TransactionWriter } from '@waybill/writing';
import { forbidden } from '../http/api-error.js';
import type { Requester } from '../http/requester.js';
import type { CurrentJobs } from './current-jobs.js';
import { registrationOf } from './decisions/registration.js';
import type { JobAdmission } from './job-admission.js';
import type { RegisterJobRequest } from './register-request.js';

/** JobLookup has the reads of the read model that registering needs. */
export interface JobLookup {
  job(namespace: string, id: string): Promise<Job | undefined>;
  schedulerConfiguration(): Promise<SchedulerConfiguration | undefined>;
}

export interface Registered {
  readonly EvalID: string;
  readonly EvalCreateIndex: number;
  readonly JobModifyIndex: number;
  readonly Warnings: string;
  readonly Index: number;
}

export interface RegisterJobDeps {
  readonly writer: TransactionWriter;
  readonly jobs: Pick<CurrentJobs, 'job'>;
  readonly admission: Pick<JobAdmission, 'admit'>;
  readonly read: Pick<JobLookup, 'schedulerConfiguration'>;
  readonly newId: () => string;
}

/**
 * RegisterJob registers a job for a user (API-100 to API-116). The job is validated here and checked again when it is
 * applied; job and evaluation are one transaction. The decision depends on the stored job, and is made again if another
 * write changes that job meanwhile.
 */
export class RegisterJob {
  constructor(private readonly deps: RegisterJobDeps) {}

  /** Registers a job. All that this depends on is read at once, in the time of one read. @throws Refusal */
  async register(request: RegisterJobRequest, requester: Requester): Promise<Registered> {
    const { Namespace, ID } = request.Job;
    const enabled = this.refuseWhenDisabled();
    const stored = this.deps.jobs.job(Namespace, ID);
    for (const read of [enabled, stored]) read.catch(() => {}); // a refused job is reported before a failed read
    const warnings = await this.deps.admission.admit(request);
    await enabled;
    return this.write(request, warnings, requester, stored);
  }

  /** Refuses registrations while the scheduler configuration rejects them (API-114). @throws Refusal forbidden */
  async refuseWhenDisabled(): Promise<void> {
    if ((await this.deps.read.schedulerConfiguration())?.RejectJobRegistration)
      throw forbidden('Job registration, dispatch, and scale are disabled by the scheduler configuration');
  }

  /**
   * Writes a job that was admitted.
   * @param begun a read of the stored job that has already begun
   * @throws Refusal
   */
  async write(
    request: RegisterJobRequest,
    Warnings: string,
    requester: Requester,
    begun?: Promise<Seen<Job | undefined>>,
  ): Promise<Registered> {
    const { writer, jobs, newId } = this.deps;
    const { Namespace, ID } = request.Job;
    let first = begun;
    const { row, decision, written } = await writer.commit(
      requester.author,
      () => {
        const stored = first ?? jobs.job(Namespace, ID);
        first = undefined;
        return stored;
      },
      (stored) => registrationOf(request, stored, { newId, nowNs: writer.nowNs(), registration: requester.requestId }),
    );
    const stored = row?.ModifyIndex ?? 0;
    if (!decision || !written) return { ...NOTHING, JobModifyIndex: stored, Warnings, Index: stored };
    const { index } = written;
    const evaluation = decision.type === 'JobRegister' ? decision.payload.Eval : decision.payload.Evals[0];
    return {
      EvalID: evaluation?.ID ?? '',
      EvalCreateIndex: evaluation ? index : 0,
      JobModifyIndex: decision.type === 'JobRegister' ? index : stored,
      Warnings,
      Index: index,
    };
  }
}

const NOTHING = { EvalID: '', EvalCreateIndex: 0 } as const;
