import { isParameterized, isPeriodic, type Job, newEvaluation } from '@waybill/model';
import { DEFAULT_TRACKED_VERSIONS } from '@waybill/state';
import type { Decision } from '@waybill/writing';

export interface DeregisterOptions {
  readonly namespace: string;
  readonly id: string;
  readonly purge: boolean;
  /** The priority of the evaluation; 0 stands for the job's own. */
  readonly evalPriority: number;
  readonly noShutdownDelay: boolean;
}

/**
 * Stops a job, or removes it with everything that belongs to it, with its evaluation in one transaction (API-120 to
 * API-125).
 */
export function deregistrationOf(
  options: DeregisterOptions,
  job: Job,
  { newId, nowNs }: { readonly newId: () => string; readonly nowNs: number },
): Decision<'JobDeregister'> {
  const Eval =
    isPeriodic(job) || isParameterized(job)
      ? null
      : newEvaluation({
          ID: newId(),
          Namespace: job.Namespace,
          Priority: options.evalPriority || job.Priority,
          Type: 'service', // whatever the job's type (API-121)
          TriggeredBy: 'job-deregister',
          JobID: job.ID,
          CreateTime: nowNs,
        });
  const payload = {
    JobID: job.ID,
    Purge: options.purge,
    NoShutdownDelay: options.noShutdownDelay,
    SubmitTime: nowNs,
    Eval,
    TrackedVersions: DEFAULT_TRACKED_VERSIONS,
  };
  return { type: 'JobDeregister', payload, namespace: job.Namespace, region: job.Region };
}
