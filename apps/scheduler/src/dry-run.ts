import {
  type Allocation,
  allocationStub,
  type AllocListStub,
  annotateDiff,
  diffJobs,
  type Evaluation,
  type Job,
  newEvaluation,
  specChanged,
} from '@waybill/model';
import type { PlanJobRequest, PlanJobResponse } from '@waybill/rpc';
import { DEFAULT_TRACKED_VERSIONS, namespacedKey, rehearseRegistration, type Stage } from '@waybill/state';
import type { Attempt } from './attempt.js';
import { blockedEvaluation } from './blocked-evaluation.js';
import { BLOCKED_REMAINING } from './descriptions.js';
import { schedule, schedulerTypeFor } from './schedule.js';

/**
 * Placements that a dry run tries; further ones are counted without looking for a node. A dry run blocks the workers'
 * thread.
 */
export const MAX_DRY_RUN_PLACEMENTS = 10_000;

export interface DryRunChance {
  readonly nowNs: number;
  readonly newId: () => string;
}

/**
 * The effects of registering the job now: an ordinary scheduling pass over the state as the registration would leave it
 * (SC-302). Synchronous, and the state is unchanged afterwards (ST-145). Cost: one scheduling pass. @throws Refusal as
 * the registration would
 */
export function dryRun(
  state: Stage,
  { Job: job, Diff }: Pick<PlanJobRequest, 'Job' | 'Diff'>,
  chance: DryRunChance,
): PlanJobResponse {
  const stored = state.tables.jobs.get(namespacedKey(job.Namespace, job.ID)) ?? null;
  const attempt = wouldDo(state, job, stored, chance);
  const desired = attempt.annotations.DesiredTGUpdates;
  return {
    Annotations: { DesiredTGUpdates: desired, PreemptedAllocs: preemptedBy(attempt, state) },
    FailedTGAllocs: attempt.failedGroups,
    JobModifyIndex: stored?.JobModifyIndex ?? 0,
    CreatedEvals: [...attempt.followups, ...attempt.waiting],
    Diff: Diff ? annotateDiff(diffJobs(stored, job), desired) : null,
    Index: state.appliedIndex,
  };
}

function preemptedBy({ plan }: Attempt, { tables }: Stage): AllocListStub[] {
  const victims = Object.values(plan.NodePreemptions).flat();
  // Only stored allocations are victims.
  return victims.map(({ ID }) => allocationStub(tables.allocs.get(ID) as Allocation));
}

/**
 * The rehearsed registration. One that changes nothing would write no job (API-106), so no registration is rehearsed.
 */
function wouldDo(state: Stage, job: Job, stored: Job | null, chance: DryRunChance): Rehearsed {
  if (stored && !stored.Stop && !specChanged(stored, job)) return passOver(state, job, state.appliedIndex, chance);
  const registration = {
    Job: job,
    Submission: null,
    EnforceIndex: false,
    JobModifyIndex: 0,
    PreserveCounts: false,
    PreserveResources: false,
    Eval: null,
    SubmissionFrom: null,
    TrackedVersions: DEFAULT_TRACKED_VERSIONS,
  };
  return rehearseRegistration(state, registration, chance.nowNs, (index) => passOver(state, job, index, chance));
}

interface Rehearsed extends Attempt {
  /** Blocked evaluations for the groups that were not placed (API-143). */
  readonly waiting: readonly Evaluation[];
}

/** One scheduling pass for the job as it is, whose result is not written. */
export function passOver({ tables }: Stage, job: Job, index: number, { nowNs, newId }: DryRunChance): Rehearsed {
  const evaluation = newEvaluation({
    ID: newId(),
    Namespace: job.Namespace,
    Priority: job.Priority,
    Type: job.Type,
    TriggeredBy: 'job-register',
    JobID: job.ID,
    AnnotatePlan: true,
    CreateTime: nowNs,
  });
  const placementLimit = MAX_DRY_RUN_PLACEMENTS;
  const input = { evaluation, tables, index, nowNs, newId, placementLimit };
  const type = schedulerTypeFor(evaluation, tables);
  const attempt = schedule(type, input);
  const terms = {
    type,
    trigger: 'queued-allocs',
    description: BLOCKED_REMAINING,
    snapshotIndex: index,
    nowNs,
  } as const;
  const waiting = attempt.blocked.map((one) => blockedEvaluation(evaluation, one, { ...terms, id: newId() }));
  return { ...attempt, waiting };
}
