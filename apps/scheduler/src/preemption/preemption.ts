import { findTaskGroup, isServerTerminal, usageOf, type Allocation, type Amounts, type Job } from '@waybill/model';

/** A victim's job has a priority that is lower by at least this (SC-133). */
export const PRIORITY_DELTA = 10;
/** Distance added for each preempted allocation of a group beyond its `migrate.max_parallel` (SC-136). */
export const PARALLEL_PENALTY = 50;
const CURVE_RATE = 0.0048;
const CURVE_ORIGIN = 2048;

/** The job that needs the resources. */
export type Preemptor = Pick<Job, 'ID' | 'Namespace' | 'Priority'>;

/** The resources that are requested on a node, and the allocations that may be evicted for them. */
export interface PreemptionAsk {
  readonly job: Preemptor;
  readonly wanted: Amounts;
  /** Free resources of the node as the plan stands. */
  readonly free: Amounts;
  readonly proposed: readonly Allocation[];
  /** Number of a group's allocations that the plan preempts already, by `groupKeyOf`. */
  readonly preemptedOf: (groupKey: string) => number;
}

interface Candidate {
  readonly alloc: Allocation;
  readonly priority: number;
  readonly usage: Amounts;
}

export const groupKeyOf = (alloc: Pick<Allocation, 'Namespace' | 'JobID' | 'TaskGroup'>): string =>
  JSON.stringify([alloc.Namespace, alloc.JobID, alloc.TaskGroup]);

/**
 * The allocations to evict so that CPU, memory and disk suffice; undefined: it is impossible (SC-133 to SC-137). The
 * lowest priority goes first, within it the closest fit. Pure. Cost: O(allocations²) of one node.
 */
export function victimsFor(ask: PreemptionAsk): Allocation[] | undefined {
  const left = candidatesOf(ask);
  const missing = { ...ask.wanted };
  const available = { ...ask.free };
  const chosen: Candidate[] = [];
  while (!covers(available, ask.wanted)) {
    const lowest = Math.min(...left.map(({ priority }) => priority));
    const closest = closestOf(
      left.filter(({ priority }) => priority === lowest),
      missing,
      ask,
    );
    if (!closest) return undefined;
    left.splice(left.indexOf(closest), 1);
    chosen.push(closest);
    add(available, closest.usage, 1);
    add(missing, closest.usage, -1);
  }
  return needed(chosen, ask).map(({ alloc }) => alloc);
}

/** Distance of an allocation's usage from the request; 0: equal (SC-135). */
export function distance(asked: Amounts, usage: Amounts): number {
  const term = (want: number, has: number): number => (want > 0 ? (want - has) / want : 0);
  return Math.hypot(
    term(asked.memoryMB, usage.memoryMB),
    term(asked.cpuMhz, usage.cpuMhz),
    term(asked.diskMB, usage.diskMB),
  );
}

/** The penalty for preempting more of a group than may migrate at once (SC-136). */
export function parallelPenalty(maxParallel: number, preempted: number): number {
  return maxParallel > 0 && preempted >= maxParallel ? (preempted + 1 - maxParallel) * PARALLEL_PENALTY : 0;
}

/** The score of a preemption: the lower the victims' priorities, the closer to 1 (SC-141). */
export function preemptionScore(priorities: readonly number[]): number {
  const highest = Math.max(...priorities);
  const sum = priorities.reduce((total, priority) => total + priority, 0);
  const p = highest + sum / highest;
  return 1 / (1 + Math.exp(CURVE_RATE * (p - CURVE_ORIGIN)));
}

/** Priority of the allocation's job; 0 if it is unknown: no such allocation is a victim. */
export const priorityOf = (alloc: Allocation): number => alloc.Job?.Priority ?? 0;

/** Whether the allocation may be evicted (SC-133). An allocation that the server stopped ends anyway. */
export function mayEvict(alloc: Allocation, job: Preemptor): boolean {
  if (alloc.Job === null || isServerTerminal(alloc)) return false;
  if (alloc.JobID === job.ID && alloc.Namespace === job.Namespace) return false;
  return priorityOf(alloc) <= job.Priority - PRIORITY_DELTA;
}

function candidatesOf({ job, proposed }: PreemptionAsk): Candidate[] {
  const candidates: Candidate[] = [];
  for (const alloc of proposed)
    if (mayEvict(alloc, job))
      candidates.push({ alloc, priority: priorityOf(alloc), usage: usageOf(alloc.AllocatedResources) });
  return candidates;
}

function closestOf(group: readonly Candidate[], missing: Amounts, ask: PreemptionAsk): Candidate | undefined {
  let closest: Candidate | undefined;
  let least = Infinity;
  for (const candidate of group) {
    const far = distance(missing, candidate.usage) + penaltyOf(candidate.alloc, ask);
    if (far >= least) continue;
    least = far;
    closest = candidate;
  }
  return closest;
}

function penaltyOf(alloc: Allocation, ask: PreemptionAsk): number {
  const group = alloc.Job && findTaskGroup(alloc.Job, alloc.TaskGroup);
  return parallelPenalty(group?.Migrate?.MaxParallel ?? 0, ask.preemptedOf(groupKeyOf(alloc)));
}

/**
 * The victims that are needed: those farthest from the whole request first, until it is met; the others stay (SC-137).
 */
function needed(chosen: readonly Candidate[], { wanted, free }: PreemptionAsk): Candidate[] {
  const available = { ...free };
  const kept: Candidate[] = [];
  for (const candidate of chosen.toSorted((a, b) => distance(wanted, b.usage) - distance(wanted, a.usage))) {
    if (covers(available, wanted)) break;
    kept.push(candidate);
    add(available, candidate.usage, 1);
  }
  return kept;
}

function covers(available: Amounts, wanted: Amounts): boolean {
  return (
    available.cpuMhz >= wanted.cpuMhz && available.memoryMB >= wanted.memoryMB && available.diskMB >= wanted.diskMB
  );
}

function add(sum: Amounts, usage: Amounts, sign: 1 | -1): void {
  sum.cpuMhz += sign * usage.cpuMhz;
  sum.memoryMB += sign * usage.memoryMB;
  sum.diskMB += sign * usage.diskMB;
}
