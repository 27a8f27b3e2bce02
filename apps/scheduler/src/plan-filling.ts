import {
  newAllocation,
  type Allocation,
  type AllocMetric,
  type Job,
  type RescheduleTracker,
  type TaskGroup,
} from '@waybill/model';
import type { AttemptInput } from './attempt.js';
import type { Chosen } from './ranking/node-selector.js';
import { withExhaustedResources } from './ranking/placement-metric.js';
import type { PlanDraft } from './plan-draft.js';

/** An allocation to place, without its node. */
export interface Wanted {
  readonly name: string;
  readonly group: TaskGroup;
  /** The allocation that it replaces (SC-147). */
  readonly previous: Allocation | undefined;
  readonly canary: boolean;
  /** Empty if it belongs to no deployment. */
  readonly deploymentId: string;
  /** Null: the job's newest version, else the older version that it is of (SC-150). */
  readonly version: Job | null;
  readonly tracker: RescheduleTracker | null;
}

/**
 * The half of an attempt that both schedulers share: an allocation for which a node was found goes into the plan with
 * everything that it displaces, and of one without a node the reason is kept. One for each attempt.
 */
export class PlanFilling {
  /** Why a group could not be placed: the metric of its first failure, which counts the others (SC-28). */
  readonly failedGroups: Record<string, AllocMetric> = {};
  /** Whether placing stopped because the plan was full. */
  truncated = false;
  private readonly evictedFor = new Map<string, number>();

  constructor(
    private readonly input: AttemptInput,
    private readonly job: Job,
    private readonly plan: PlanDraft,
  ) {}

  /** Whether placing must stop. Check it before each placement. */
  isFull(): boolean {
    return (this.truncated = this.plan.isFull);
  }

  /** Places an allocation on the chosen node (SC-142, SC-146 to SC-148). */
  place(wanted: Wanted, chosen: Chosen): void {
    const { group, canary, deploymentId, previous } = wanted;
    const made = newAllocation({
      ID: this.input.newId(),
      EvalID: this.input.evaluation.ID,
      Namespace: this.job.Namespace,
      JobID: this.job.ID,
      TaskGroup: group.Name,
      Name: wanted.name,
      NodeID: chosen.node.ID,
      NodeName: chosen.node.Name,
      Job: wanted.version,
      AllocatedResources: chosen.resources,
      Metrics: chosen.metric,
      DeploymentID: deploymentId,
      DeploymentStatus:
        canary && deploymentId !== '' ? { Healthy: null, Timestamp: null, Canary: true, ModifyIndex: 0 } : null,
      PreviousAllocation: previous?.ID ?? '',
      PreemptedAllocations: chosen.victims.map(({ ID }) => ID),
      RescheduleTracker: wanted.tracker,
      CreateTime: this.input.nowNs,
    });
    for (const victim of chosen.victims) this.plan.preempt(victim, made.ID);
    this.evictedFor.set(group.Name, this.evictions(group.Name) + chosen.victims.length);
    this.plan.place(made);
  }

  /** Number of allocations that were preempted for a group. */
  evictions(group: string): number {
    return this.evictedFor.get(group) ?? 0;
  }

  hasFailed(group: TaskGroup): boolean {
    return group.Name in this.failedGroups;
  }

  /**
   * Records a failed placement: the first failure of a group gives the reason, and the `metric` of later ones is
   * ignored (SC-28, SC-30).
   */
  failed(group: TaskGroup, metric?: AllocMetric): void {
    const before = this.failedGroups[group.Name];
    const now = before ? { ...before, CoalescedFailures: before.CoalescedFailures + 1 } : metric;
    if (now) this.failedGroups[group.Name] = withExhaustedResources(now, group);
  }
}
