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

/** What an allocation is to be, its node aside. */
export interface Wanted {
  readonly name: string;
  readonly group: TaskGroup;
  /** Whose place it takes (SC-147). */
  readonly previous: Allocation | undefined;
  readonly canary: boolean;
  /** Empty: it belongs to none. */
  readonly deploymentId: string;
  /** Null: the job's newest version, else the older one that it is of (SC-150). */
  readonly version: Job | null;
  readonly tracker: RescheduleTracker | null;
}

/**
 * The half of an attempt that both schedulers share: what was found a node for goes into the plan with all it displaces, what
 * was not is remembered with the reason. One per attempt.
 */
export class PlanFilling {
  /** Why nothing of a group could be placed: of its first failure, the others folded into it (SC-28). */
  readonly failedGroups: Record<string, AllocMetric> = {};
  /** Placing stopped because the plan was full. */
  truncated = false;
  private readonly evictedFor = new Map<string, number>();

  constructor(
    private readonly input: AttemptInput,
    private readonly job: Job,
    private readonly plan: PlanDraft,
  ) {}

  /** To be asked before each placement. */
  isFull(): boolean {
    return (this.truncated = this.plan.isFull);
  }

  /** SC-142, SC-146 to SC-148. */
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
    if (chosen.victims.length > 0) this.evictedFor.set(group.Name, this.evictions(group.Name) + chosen.victims.length);
    this.plan.place(made);
  }

  /** How many had to go for a group. */
  evictions(group: string): number {
    return this.evictedFor.get(group) ?? 0;
  }

  hasFailed(group: TaskGroup): boolean {
    return group.Name in this.failedGroups;
  }

  /** SC-28, SC-30: the first failure of a group says why; `metric` of the others is not looked at. */
  failed(group: TaskGroup, metric?: AllocMetric): void {
    const before = this.failedGroups[group.Name];
    const now = before ? { ...before, CoalescedFailures: before.CoalescedFailures + 1 } : metric;
    if (now) this.failedGroups[group.Name] = withExhaustedResources(now, group);
  }
}
