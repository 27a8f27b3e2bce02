import type { AllocMetric, Evaluation, Job, JobDiff, PlanAnnotations } from '@waybill/model';
import { call } from './call.js';
import { anyIn, needsManagement } from './user-needs.js';

export interface PlanJobRequest {
  /** A complete and valid job. */
  readonly Job: Job;
  /** Whether the response compares it with the stored job (API-144). */
  readonly Diff: boolean;
  /** Lowest index of the state that is used. */
  readonly MinIndex: number;
}

/** Effects of registering the job now (API-143). */
export interface PlanJobResponse {
  readonly Annotations: PlanAnnotations;
  readonly FailedTGAllocs: Record<string, AllocMetric>;
  /** Index of the stored job. 0 if the job is new (API-142). */
  readonly JobModifyIndex: number;
  readonly CreatedEvals: readonly Evaluation[];
  readonly Diff: JobDiff | null;
  /** Index of the state that was used. */
  readonly Index: number;
}

/** Longer than most timeouts, because the call takes a whole scheduling pass and waits for those of the workers. */
const PLAN_TIMEOUT_MS = 20_000;

export const planJob = call<PlanJobRequest, PlanJobResponse>('scheduler.plan', {
  timeoutMs: PLAN_TIMEOUT_MS,
  userNeeds: ({ Job }) => anyIn([Job.Namespace], ['submit-job', 'plan-job']),
});

export interface QueuedPlacementsRequest {
  /** `<namespace>/<id>` of the job after which to continue. Empty for the first jobs. */
  readonly After: string;
  /** Lowest index of the state that is used. */
  readonly MinIndex: number;
}

/** Number of allocations of each group that wait to be placed. */
export interface QueuedOfJob {
  readonly Namespace: string;
  readonly JobID: string;
  readonly Groups: Record<string, number>;
}

export interface QueuedPlacementsResponse {
  /** Jobs whose stored summary differs. */
  readonly Queued: readonly QueuedOfJob[];
  /** Continue with this job. Empty at the end. */
  readonly Next: string;
}

/** Computes the queued allocations of every job by a dry run, some jobs at a time (GC-118). */
export const queuedPlacements = call<QueuedPlacementsRequest, QueuedPlacementsResponse>('scheduler.queued', {
  timeoutMs: PLAN_TIMEOUT_MS,
  userNeeds: needsManagement,
});
