import type { Allocation, AllocClientStatus, AllocStateEntry, RescheduleTracker } from './allocation.js';
import type { Deployment, DeploymentStatusUpdate } from './deployment.js';
import type { Evaluation, PlanAnnotations } from './evaluation.js';
import type { Job } from '../jobs/job.js';

/** What a stop changes of an allocation. An empty `ClientStatus` leaves the stored one. */
export interface AllocStopDiff {
  ID: string;
  DesiredDescription: string;
  ClientStatus: AllocClientStatus | '';
  FollowupEvalID: string;
  /** Only when the plan changes it. */
  RescheduleTracker?: RescheduleTracker | null;
  /** Entries to append, only when there are any. */
  AllocStates?: AllocStateEntry[];
}

export interface AllocPreemptionDiff {
  ID: string;
  PreemptedByAllocation: string;
}

/** Which version of which incarnation of a job: all that a plan says of it, since the applier has the job itself. */
export type PlannedJob = Pick<Job, 'Namespace' | 'ID' | 'Version' | 'CreateIndex'>;

/** From a worker to the plan applier: what one scheduling pass wants (EB, section 2.2). Maps are keyed by node id. */
export interface Plan {
  EvalID: string;
  /** Of this delivery of the evaluation: the fence against a second scheduler on the same one. */
  EvalToken: string;
  Priority: number;
  AllAtOnce: boolean;
  /** The version the scheduler planned with; null when the job is gone. */
  Job: PlannedJob | null;
  NodeUpdate: Record<string, AllocStopDiff[]>;
  NodeAllocation: Record<string, Allocation[]>;
  NodePreemptions: Record<string, AllocPreemptionDiff[]>;
  Deployment: Deployment | null;
  DeploymentUpdates: DeploymentStatusUpdate[];
  /** Delayed evaluations that allocations of this plan name in `FollowupEvalID`. */
  FollowupEvals: Evaluation[];
  Annotations: PlanAnnotations | null;
  SnapshotIndex: number;
}

/** All that an answer says of a placement: whoever asked has the rest, because it sent it. New ones have equal indexes (EB-9). */
export type CommittedAllocation = Pick<
  Allocation,
  'ID' | 'TaskGroup' | 'FollowupEvalID' | 'CreateIndex' | 'ModifyIndex'
>;

/** What the plan applier accepted. */
export interface PlanResult<Placed = CommittedAllocation> {
  NodeUpdate: Record<string, AllocStopDiff[]>;
  NodeAllocation: Record<string, Placed[]>;
  NodePreemptions: Record<string, AllocPreemptionDiff[]>;
  Deployment: Deployment | null;
  DeploymentUpdates: DeploymentStatusUpdate[];
  RejectedNodes: string[];
  IneligibleNodes: string[];
  /** 0, or the index the worker must reach before it tries again. */
  RefreshIndex: number;
  /** Index of the committed transaction, 0 if nothing was committed. */
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

/** EB-8: counts allocations over the plan's nodes; stops and deployments do not count. */
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

/** How many a plan has of something, over all nodes. */
export function countOverNodes(byNode: Readonly<Record<string, readonly unknown[]>>): number {
  let count = 0;
  for (const nodeId in byNode) count += byNode[nodeId]?.length ?? 0;
  return count;
}

function isEmptyMap(map: Record<string, unknown[]>): boolean {
  return Object.values(map).every((list) => list.length === 0);
}
