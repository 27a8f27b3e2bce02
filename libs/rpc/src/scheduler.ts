import type { AllocMetric, Evaluation, Job, JobDiff, PlanAnnotations } from '@waybill/model';
import { call } from './call.js';

export interface PlanJobRequest {
  /** Complete and valid. */
  readonly Job: Job;
  /** Whether the answer compares it with the stored job (API-144). */
  readonly Diff: boolean;
  /** The state that is looked at has at least this index. */
  readonly MinIndex: number;
}

/** What would happen if the job were registered now (API-143). */
export interface PlanJobResponse {
  readonly Annotations: PlanAnnotations;
  readonly FailedTGAllocs: Record<string, AllocMetric>;
  /** Of the stored job; 0: it is new (API-142). */
  readonly JobModifyIndex: number;
  readonly CreatedEvals: readonly Evaluation[];
  readonly Diff: JobDiff | null;
  /** Of the state that was looked at. */
  readonly Index: number;
}

/** Longer than most: the answer is a whole scheduling pass, behind those of the workers. */
const PLAN_TIMEOUT_MS = 20_000;

export const planJob = call<PlanJobRequest, PlanJobResponse>('scheduler.plan', { timeoutMs: PLAN_TIMEOUT_MS });

export interface QueuedPlacementsRequest {
  /** `<namespace>/<id>` of the job behind which to go on; "": from the beginning. */
  readonly After: string;
  /** The state that is looked at has at least this index. */
  readonly MinIndex: number;
}

/** What of each group waits to be placed. */
export interface QueuedOfJob {
  readonly Namespace: string;
  readonly JobID: string;
  readonly Groups: Record<string, number>;
}

export interface QueuedPlacementsResponse {
  /** Jobs of which the stored summary says something else. */
  readonly Queued: readonly QueuedOfJob[];
  /** To be asked for next; "": that was all. */
  readonly Next: string;
}

/** What a dry run of every job says is queued, some jobs at a time (GC-118). */
export const queuedPlacements = call<QueuedPlacementsRequest, QueuedPlacementsResponse>('scheduler.queued', {
  timeoutMs: PLAN_TIMEOUT_MS,
});
