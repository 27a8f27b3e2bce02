import { findTaskGroup, isServerTerminal, usageOf, type Allocation, type Amounts, type Job } from '@waybill/model';

/** A victim's job is at least this much less important (SC-133). */
export const PRIORITY_DELTA = 10;
/** Distance added for each allocation of a group that is preempted beyond its `migrate.max_parallel` (SC-136). */
export const PARALLEL_PENALTY = 50;
const CURVE_RATE = 0.0048;
const CURVE_ORIGIN = 2048;

/** For whom room is made. */
export type Preemptor = Pick<Job, 'ID' | 'Namespace' | 'Priority'>;

/** What is wanted on a node, and who may have to go for it. */
export interface PreemptionAsk {
  readonly job: Preemptor;
  readonly wanted: Amounts;
  /** Left on the node as the plan stands. */
  readonly free: Amounts;
  readonly proposed: readonly Allocation[];
  /** How many of a group's allocations the plan preempts already, by `groupKeyOf`. */
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
 * SC-133 to SC-137: whom to evict so that CPU, memory and disk suffice; undefined: it is impossible. The least important
 * go first, of these the closest fits. Pure. Cost: O(allocations²) of one node.
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

/** SC-135: how far an allocation is from what is asked; 0: exactly that. */
export function distance(asked: Amounts, usage: Amounts): number {
  const term = (want: number, has: number): number => (want > 0 ? (want - has) / want : 0);
  return Math.hypot(
    term(asked.memoryMB, usage.memoryMB),
    term(asked.cpuMhz, usage.cpuMhz),
    term(asked.diskMB, usage.diskMB),
  );
}

/** SC-136. */
export function parallelPenalty(maxParallel: number, preempted: number): number {
  return maxParallel > 0 && preempted >= maxParallel ? (preempted + 1 - maxParallel) * PARALLEL_PENALTY : 0;
}

/** SC-141: the less important the victims, the nearer to 1. */
export function preemptionScore(priorities: readonly number[]): number {
  const highest = Math.max(...priorities);
  const sum = priorities.reduce((total, priority) => total + priority, 0);
  const p = highest + sum / highest;
  return 1 / (1 + Math.exp(CURVE_RATE * (p - CURVE_ORIGIN)));
}

/** 0 where nothing is known: it would be no victim. */
export const priorityOf = (alloc: Allocation): number => alloc.Job?.Priority ?? 0;

/** SC-133. What the server has told to stop goes anyway. */
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

/** SC-137: the farthest from the whole ask first, until it is met; the rest may stay. */
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
