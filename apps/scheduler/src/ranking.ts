import type { Affinity, Amounts, Job, Node, SchedulerConfiguration, TaskGroup } from '@waybill/model';
import { compare } from './constraint-operators.js';
import { resolveTarget } from './constraint-targets.js';
import { SpreadScore, type UseCounts } from './spread.js';

/** Highest fit score (SC-107); the `binpack` scorer divides by it. */
export const MAX_FIT_SCORE = 18;

export interface Score {
  /** By scorer, zeros that did not contribute included. */
  readonly scores: Record<string, number>;
  /** Mean of what contributed. */
  readonly normScore: number;
}

export interface RankedNode {
  readonly node: Node;
  /** The new allocation included. */
  readonly used: Amounts;
  readonly capacity: Amounts;
  /** Allocations of the same job and group on the node. */
  readonly collisions: number;
  readonly penalised: boolean;
}

/** SC-107: how full (binpack) or how empty (spread) the node would be. Clamped to 0…18. */
export function fitScore(
  algorithm: SchedulerConfiguration['SchedulerAlgorithm'],
  used: Amounts,
  capacity: Amounts,
): number {
  const total = 10 ** freeShare(used.cpuMhz, capacity.cpuMhz) + 10 ** freeShare(used.memoryMB, capacity.memoryMB);
  const score = algorithm === 'spread' ? total - 2 : 20 - total;
  return Math.min(MAX_FIT_SCORE, Math.max(0, score));
}

function freeShare(used: number, capacity: number): number {
  return capacity > 0 ? 1 - used / capacity : 0;
}

/**
 * Scores nodes for one group: the mean of what the scorers of section 11 contribute. Pure.
 * Not yet: device affinity, preemption.
 */
export class Ranking {
  private readonly affinities: readonly Affinity[];
  private readonly totalWeight: number;
  private readonly spread: SpreadScore;

  constructor(
    job: Job,
    private readonly group: TaskGroup,
    private readonly algorithm: SchedulerConfiguration['SchedulerAlgorithm'],
    uses: UseCounts,
  ) {
    this.spread = new SpreadScore(job, group, uses);
    // SC-111
    this.affinities = [
      ...(job.Affinities ?? []),
      ...(group.Affinities ?? []),
      ...group.Tasks.flatMap((task) => task.Affinities ?? []),
    ];
    this.totalWeight = this.affinities.reduce((sum, a) => sum + Math.abs(a.Weight), 0);
  }

  get hasAffinities(): boolean {
    return this.affinities.length > 0;
  }

  /** Before every placement. */
  refresh(): void {
    this.spread.refresh();
  }

  score(ranked: RankedNode): Score {
    const binpack = fitScore(this.algorithm, ranked.used, ranked.capacity) / MAX_FIT_SCORE;
    const antiAffinity = ranked.collisions > 0 ? -(ranked.collisions + 1) / this.group.Count : 0;
    const penalty = ranked.penalised ? -1 : 0;
    const affinity = this.hasAffinities ? this.affinityOf(ranked.node) : 0;
    const spread = this.spread.of(ranked.node);
    const contributed = [binpack];
    if (ranked.collisions > 0) contributed.push(antiAffinity);
    if (ranked.penalised) contributed.push(penalty);
    if (this.hasAffinities) contributed.push(affinity);
    if (spread !== 0) contributed.push(spread);
    return {
      scores: {
        binpack,
        'job-anti-affinity': antiAffinity,
        'node-reschedule-penalty': penalty,
        'node-affinity': affinity,
        'allocation-spread': spread,
      },
      normScore: contributed.reduce((sum, value) => sum + value, 0) / contributed.length,
    };
  }

  private affinityOf(node: Node): number {
    let sum = 0;
    for (const { LTarget, RTarget, Operand, Weight } of this.affinities)
      if (compare(Operand, resolveTarget(LTarget, node), resolveTarget(RTarget, node))) sum += Weight;
    return sum / this.totalWeight;
  }
}
