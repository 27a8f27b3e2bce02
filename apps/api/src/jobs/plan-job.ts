import { jobSubject, type Log } from '@waybill/journal';
import {
  type Clock,
  encodeAllocMetric,
  encodeEvaluation,
  encodeMap,
  isLaunched,
  type Job,
  jobInRegion,
  type JobDiff,
  launchTimeText,
  nextLaunchMs,
  type PlanAnnotations,
  regionsOf,
  type WireObject,
} from '@waybill/model';
import { planJob, type Rpc, type CallUser, UserRpc } from '@waybill/rpc';
import { traceparentOf } from '@waybill/telemetry';
import type { JobAdmission } from './job-admission.js';
import type { PlanJobWish } from './register-request.js';

export interface JobPlan {
  readonly Annotations: PlanAnnotations;
  readonly FailedTGAllocs: WireObject | null;
  readonly JobModifyIndex: number;
  readonly CreatedEvals: readonly WireObject[];
  readonly Diff: JobDiff | null;
  /** The time of the next launch in RFC 3339. It is null if the job has no schedule. */
  readonly NextPeriodicLaunch: string | null;
  readonly Warnings: string;
  readonly Index: number;
}

export interface PlanJobDeps {
  readonly admission: Pick<JobAdmission, 'admit'>;
  readonly log: Pick<Log, 'lastSequence'>;
  readonly rpc: Rpc;
  readonly region: string;
  /** Returns the index up to which clients may have read. */
  readonly seen: () => number;
  readonly clock: Clock;
}

/**
 * PlanJob returns what would happen if a job were registered now (API-141 to API-143). The API checks the job as for a
 * registration, a scheduler simulates it, and nothing is written.
 */
export class PlanJob {
  constructor(private readonly deps: PlanJobDeps) {}

  /**
   * Plans a job. For a job of several regions it plans this region's part (DP-1140). @throws Refusal invalid, RpcError,
   * RpcUnavailableError
   */
  async plan(wish: PlanJobWish, user: CallUser): Promise<JobPlan> {
    const { Job: given, Diff } = wish;
    const { admission, log, rpc, region, seen } = this.deps;
    const calls = new UserRpc(rpc, user);
    const Warnings = await admission.admit(wish);
    const here = regionsOf(given).find(({ Name }) => Name === region);
    const Job = here ? jobInRegion(given, here) : given;
    const written = await log.lastSequence(jobSubject(Job.Namespace, Job.ID));
    const MinIndex = Math.max(written, seen());
    const planned = await calls.ask(planJob, { Job, Diff, MinIndex }, { traceparent: traceparentOf() });
    return {
      ...planned,
      FailedTGAllocs: encodeMap(planned.FailedTGAllocs, encodeAllocMetric),
      CreatedEvals: planned.CreatedEvals.map(encodeEvaluation),
      NextPeriodicLaunch: this.nextLaunchOf(Job),
      Warnings,
    };
  }

  private nextLaunchOf(job: Job): string | null {
    if (!job.Periodic || !isLaunched(job)) return null;
    const ms = nextLaunchMs(job.Periodic, this.deps.clock.nowMs());
    return ms === undefined ? null : launchTimeText(job.Periodic, ms);
  }
}
