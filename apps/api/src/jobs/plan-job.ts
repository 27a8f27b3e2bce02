import { jobSubject, type Log } from '@waybill/journal';
import {
  encodeAllocMetric,
  encodeEvaluation,
  encodeMap,
  formatErrors,
  formatWarnings,
  type JobDiff,
  type PlanAnnotations,
  validateJob,
  type WireObject,
} from '@waybill/model';
import { planJob, type Rpc } from '@waybill/rpc';
import { traceparentOf } from '@waybill/telemetry';
import { failed } from '../http/api-error.js';
import type { PlanJobWish } from './register-request.js';

export interface JobPlan {
  readonly Annotations: PlanAnnotations;
  readonly FailedTGAllocs: WireObject | null;
  readonly JobModifyIndex: number;
  readonly CreatedEvals: readonly WireObject[];
  readonly Diff: JobDiff | null;
  readonly NextPeriodicLaunch: null;
  readonly Warnings: string;
  readonly Index: number;
}

/**
 * What would happen if a job were registered now (API-141 to API-143): checked here as if it were, played through by a
 * scheduler, written nowhere.
 */
export class PlanJob {
  constructor(
    private readonly log: Pick<Log, 'lastSequence'>,
    private readonly rpc: Rpc,
    /** Index up to which clients may have read. */
    private readonly seen: () => number,
  ) {}

  /** @throws ApiError 500, RpcError, RpcUnavailableError */
  async run({ Job, Diff, warnings: dropped }: PlanJobWish): Promise<JobPlan> {
    const { errors, warnings } = validateJob(Job);
    if (errors.length > 0) throw failed(formatErrors(errors));
    const written = await this.log.lastSequence(jobSubject(Job.Namespace, Job.ID));
    const MinIndex = Math.max(written, this.seen());
    const planned = await this.rpc.ask(planJob, { Job, Diff, MinIndex }, { traceparent: traceparentOf() });
    return {
      ...planned,
      FailedTGAllocs: encodeMap(planned.FailedTGAllocs, encodeAllocMetric),
      CreatedEvals: planned.CreatedEvals.map(encodeEvaluation),
      NextPeriodicLaunch: null,
      Warnings: formatWarnings([...dropped, ...warnings]),
    };
  }
}
