import type { Allocation, AllocClientStatus, AllocStateEntry, RescheduleTracker } from './allocation.js';
import type { Deployment, DeploymentStatusUpdate } from './deployment.js';
import type { Evaluation, PlanAnnotations } from './evaluation.js';
import type { Job } from '../jobs/job.js';

/** The members that a stop changes in an allocation. An empty `ClientStatus` keeps the stored one. */
export interface AllocStopDiff {
  ID: string;
  DesiredDescription: string;
  ClientStatus: AllocClientStatus | '';
  FollowupEvalID: string;
  /** Present only if the plan changes it. */
  RescheduleTracker?: RescheduleTracker | null;
  /** Entries to append. Present only if there are any. */
  AllocStates?: AllocStateEntry[];
}

export interface AllocPreemptionDiff {
  ID: string;
  PreemptedByAllocation: string;
}

/**
 * Identifies the version and incarnation of a job. A plan needs nothing else, because the plan applier has the job
 * itself.
 */
export type PlannedJob = Pick<Job, 'Namespace' | 'ID' | 'Version' | 'CreateIndex'>;

/**
 * A plan: the changes that one scheduling pass proposes to the plan applier (EB, section 2.2). Maps are keyed by node
 * ID.
 */
export interface Plan {
  EvalID: string;
  /** Token of this delivery of the evaluation. It fences off a second scheduler with the same evaluation. */
  EvalToken: string;
  Priority: number;
  AllAtOnce: boolean;
  /** The version that the scheduler planned with. Null if the job no longer exists. */
  Job: PlannedJob | null;
  NodeUpdate: Record<string, AllocStopDiff[]>;
  NodeAllocation: Record<string, Allocation[]>;
  NodePreemptions: Record<string, AllocPreemptionDiff[]>;
  Deployment: Deployment | null;
  DeploymentUpdates: DeploymentStatusUpdate[];
  /** Delayed evaluations that allocations of this plan reference in `FollowupEvalID`. */
  FollowupEvals: Evaluation[];
  Annotations: PlanAnnotations | null;
  SnapshotIndex: number;
}

/**
 * The members of a placement in the response. The worker has the others, because it sent them. New allocations have
 * equal indexes (EB-9).
 */
export type CommittedAllocation = Pick<
  Allocation,
  'ID' | 'TaskGroup' | 'FollowupEvalID' | 'CreateIndex' | 'ModifyIndex'
>;

/** The part of a plan that the plan applier accepted. */
export interface PlanResult<Placed = CommittedAllocation> {
  NodeUpdate: Record<string, AllocStopDiff[]>;
  NodeAllocation: Record<string, Placed[]>;
  NodePreemptions: Record<string, AllocPreemptionDiff[]>;
  Deployment: Deployment | null;
  DeploymentUpdates: DeploymentStatusUpdate[];
  RejectedNodes: string[];
  IneligibleNodes: string[];
  /** The index that the worker's replica must reach before another attempt, or 0. */
  RefreshIndex: number;
  /** Index of the committed transaction, or 0 if nothing was committed. */
  AllocIndex: number;
}

type PlanBody = Pick<PlanResult<unknown>, 'NodeUpdate' | 'NodeAllocation' | 'Deployment' | 'DeploymentUpdates'>;

/** Whether the plan changes no allocation and no deployment (EB-7). */
export function isNoopPlan(plan: PlanBody): boolean {
  return (
    isEmptyMap(plan.NodeUpdate) &&
    isEmptyMap(plan.NodeAllocation) &&
    plan.DeploymentUpdates.length === 0 &&
    plan.Deployment === null
  );
}

/** Whether the result changes no allocation and no deployment; preemptions alone do not count (EB-6). */
export function isNoopPlanResult(result: PlanBody & Pick<PlanResult, 'IneligibleNodes'>): boolean {
  return result.IneligibleNodes.length === 0 && isNoopPlan(result);
}

/**
 * Whether the plan was committed in full (EB-8). Only allocations over the plan's nodes count, not stops and
 * deployments.
 */
export function isFullCommit(
  plan: Pick<Plan, 'NodeAllocation'>,
  result: Pick<PlanResult<unknown>, 'NodeAllocation'>,
): boolean {
  let expected = 0;
  let actual = 0;
  for (const [nodeId, allocs] of Object.entries(plan.NodeAllocation)) {
    expected += allocs.length;
    actual += result.NodeAllocation[nodeId]?.length ?? 0;
  }
  return expected === actual;
}

/** Returns the number of entries over all nodes. */
export function countOverNodes(byNode: Readonly<Record<string, readonly unknown[]>>): number {
  let count = 0;
  for (const nodeId in byNode) count += byNode[nodeId]?.length ?? 0;
  return count;
}

function isEmptyMap(map: Record<string, unknown[]>): boolean {
  return Object.values(map).every((list) => list.length === 0);
}
