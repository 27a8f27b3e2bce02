import {
  isActiveDeployment,
  isTerminalAllocation,
  nsFromRfc3339,
  rfc3339FromNs,
  type AllocDeploymentStatus,
  type Allocation,
  type Deployment,
  type DeploymentState,
} from '@waybill/model';
import type { Write } from '../machine/write.js';

interface Counted {
  readonly placed: 0 | 1;
  readonly healthy: number;
  readonly unhealthy: 0 | 1;
  /** Whether it was a healthy canary and has ended: another one has to become healthy. */
  readonly endsCanary?: boolean;
}

/**
 * Counts the allocations that one transaction writes in their deployments (ST-119), moves the progress deadlines of
 * their groups (ST-120), and then writes each deployment once. A healthy canary that ends before its promotion does not
 * count as healthy any more, and the progress deadline of its group starts again at that moment.
 *
 * Modes: counting → put. Nothing else may write a deployment in between. Cost: O(1) for an allocation; a copy of each
 * deployment that counts one.
 */
export class DeploymentCounts {
  /** Copies that may be changed. */
  private readonly counted = new Map<string, Deployment>();

  constructor(private readonly w: Write) {}

  /** @param before the row that this write replaces */
  count(before: Allocation | undefined, after: Allocation): void {
    if (!after.DeploymentID) return;
    const counted = this.whatCounts(before, after);
    const deployment = counted && this.deploymentOf(after);
    const state = deployment?.TaskGroups[after.TaskGroup];
    if (!counted || !deployment || !state) return;
    state.PlacedAllocs += counted.placed;
    state.HealthyAllocs += counted.healthy;
    state.UnhealthyAllocs += counted.unhealthy;
    state.PlacedCanaries = withCanary(state.PlacedCanaries, after);
    state.RequireProgressBy = progressDeadline(state, after, counted);
    deployment.ModifyTime = after.ModifyTime;
  }

  put(): void {
    for (const deployment of this.counted.values()) this.w.put('deployment', deployment);
  }

  /** The change to count, determined before a copy is made: most writes of allocations change no counter. */
  private whatCounts(before: Allocation | undefined, after: Allocation): Counted | undefined {
    const counted = newHealth(before, after);
    if (!before || counted?.placed === 1) return counted;
    if (!isEndedCanary(before) && !isEndedCanary(after)) return counted;
    if (!this.isAwaited(after)) return isEndedCanary(before) && counted?.healthy === -1 ? UNHEALTHY : counted;
    const healthy = countsAsHealthy(after) - countsAsHealthy(before);
    if (healthy === 0 && !counted) return undefined;
    return { placed: 0, healthy, unhealthy: counted?.unhealthy ?? 0, endsCanary: healthy < 0 };
  }

  /** Whether an active deployment waits for the canaries of the allocation's group. */
  private isAwaited({ DeploymentID, TaskGroup }: Allocation): boolean {
    const deployment = this.counted.get(DeploymentID) ?? this.w.tables.deployment.get(DeploymentID);
    return deployment !== undefined && isActiveDeployment(deployment) && !deployment.TaskGroups[TaskGroup]?.Promoted;
  }

  /** The allocation's deployment; undefined if it was deleted, or has no such group. */
  private deploymentOf({ DeploymentID, TaskGroup }: Allocation): Deployment | undefined {
    const known = this.counted.get(DeploymentID) ?? this.w.tables.deployment.get(DeploymentID);
    if (!known || !Object.hasOwn(known.TaskGroups, TaskGroup)) return undefined;
    if (this.counted.has(DeploymentID)) return known;
    const TaskGroups = { ...known.TaskGroups };
    for (const [name, state] of Object.entries(TaskGroups)) TaskGroups[name] = { ...state };
    const copy = { ...known, TaskGroups, ModifyIndex: this.w.index };
    this.counted.set(DeploymentID, copy);
    return copy;
  }
}

/** Counts for a transaction that writes one allocation, or few. @param before the row that this write replaces */
export function countInDeployment(w: Write, before: Allocation | undefined, after: Allocation): void {
  if (!after.DeploymentID) return;
  const counts = new DeploymentCounts(w);
  counts.count(before, after);
  counts.put();
}

const healthOf = (status: AllocDeploymentStatus | null): boolean | null => status?.Healthy ?? null;

/** Whether a canary ended without promotion: a promotion clears the flag of living, healthy canaries (DP-853). */
const isEndedCanary = (alloc: Allocation): boolean =>
  alloc.DeploymentStatus?.Canary === true && isTerminalAllocation(alloc);

const countsAsHealthy = (alloc: Allocation): number =>
  healthOf(alloc.DeploymentStatus) === true && !isEndedCanary(alloc) ? 1 : 0;

const UNHEALTHY: Counted = { placed: 0, healthy: 0, unhealthy: 1 };

/**
 * A health decision. A placement counts as a placement only, even if it carries health; an unhealthy allocation never
 * becomes healthy again.
 */
function newHealth(before: Allocation | undefined, after: Allocation): Counted | undefined {
  if (before?.DeploymentID !== after.DeploymentID) return { placed: 1, healthy: 0, unhealthy: 0 };
  const was = healthOf(before.DeploymentStatus);
  const is = healthOf(after.DeploymentStatus);
  if (was === null && is === true) return { placed: 0, healthy: 1, unhealthy: 0 };
  if (was === null && is === false) return UNHEALTHY;
  if (was === true && is === false) return { placed: 0, healthy: -1, unhealthy: 1 };
  return undefined;
}

function withCanary(canaries: string[], alloc: Allocation): string[] {
  if (!alloc.DeploymentStatus?.Canary || canaries.includes(alloc.ID)) return canaries;
  return [...canaries, alloc.ID];
}

/**
 * The progress deadline. The first placement starts it. A newly healthy allocation may move it forward, and so does the
 * end of a healthy canary, which starts the wait again. Nothing moves it back.
 */
function progressDeadline(state: DeploymentState, alloc: Allocation, counted: Counted): string | null {
  if (state.ProgressDeadline === 0) return state.RequireProgressBy;
  if (counted.placed === 1 && state.RequireProgressBy === null) {
    return rfc3339FromNs(alloc.ModifyTime + state.ProgressDeadline);
  }
  const fromNs = runsFrom(alloc, counted);
  const moved = fromNs + state.ProgressDeadline;
  return fromNs > 0 && moved > nsFromRfc3339(state.RequireProgressBy) ? rfc3339FromNs(moved) : state.RequireProgressBy;
}

/** Start of the deadline's period, unix ns; 0: the deadline stays. */
function runsFrom(alloc: Allocation, { healthy, endsCanary }: Counted): number {
  if (endsCanary) return alloc.ModifyTime;
  return healthy === 1 ? nsFromRfc3339(alloc.DeploymentStatus?.Timestamp ?? null) : 0;
}
