import {
  type Affinity,
  type Amounts,
  type Job,
  type Node,
  operatorHolds,
  resolveTarget,
  type SchedulerConfiguration,
  type TaskGroup,
} from '@waybill/model';
import { weightOf } from '../feasibility/device-match.js';
import { fitScore, MAX_FIT_SCORE } from './fit-score.js';
import { devicesAskedBy } from './group-ask.js';
import { SpreadScore, type UseCounts } from './spread.js';

export interface Score {
  /** By scorer, including zeros that did not contribute. */
  readonly scores: Record<string, number>;
  /** Mean of the scores that contributed. */
  readonly normScore: number;
}

/** The part of a score that depends on the node alone. */
export interface BaseScore {
  readonly binpack: number;
  /** 0 if no allocation of the same job and group is on the node. */
  readonly antiAffinity: number;
  readonly affinity: number;
  /** Matched share of the device affinities; null if there are none, so that nothing contributes. */
  readonly devices: number | null;
}

/** The scores by scorer, as clients see them, without their mean, which is `NormScore`. */
export function scoresBy(base: BaseScore, penalised: boolean, spread: number): Record<string, number> {
  const scores: Record<string, number> = {
    binpack: base.binpack,
    'job-anti-affinity': base.antiAffinity,
    'node-reschedule-penalty': penalised ? -1 : 0,
    'node-affinity': base.affinity,
    'allocation-spread': spread,
  };
  if (base.devices !== null) scores['devices'] = base.devices;
  return scores;
}

export interface RankedNode {
  readonly node: Node;
  /** Includes the new allocation. */
  readonly used: Amounts;
  readonly capacity: Amounts;
  /** Allocations of the same job and group on the node. */
  readonly collisions: number;
  /** Weight of the device affinities that the assigned devices match. */
  readonly matchedDeviceWeight: number;
  readonly penalised: boolean;
}

/** Scores nodes for one group: the mean of the contributions of the scorers of section 11. Pure. */
export class Ranking {
  private readonly affinities: readonly Affinity[];
  private readonly totalWeight: number;
  /** Sum of the weights of all affinities of all device requests; 0: there are none. */
  private readonly deviceWeight: number;
  private readonly spread: SpreadScore;

  constructor(
    job: Job,
    private readonly group: TaskGroup,
    private readonly algorithm: SchedulerConfiguration['SchedulerAlgorithm'],
    uses: UseCounts,
  ) {
    this.spread = new SpreadScore(job, group, uses);
    // The affinities of job, group and tasks together (SC-111).
    this.affinities = [
      ...(job.Affinities ?? []),
      ...(group.Affinities ?? []),
      ...group.Tasks.flatMap((task) => task.Affinities ?? []),
    ];
    this.deviceWeight = devicesAskedBy(group).reduce((sum, { request }) => sum + weightOf(request), 0);
    this.totalWeight = this.affinities.reduce((sum, a) => sum + Math.abs(a.Weight), 0);
  }

  get hasAffinities(): boolean {
    return this.affinities.length > 0;
  }

  /** Must be called before every placement. */
  refresh(): void {
    this.spread.refresh();
  }

  /** The part of the score that stays while the node does not change. */
  base(ranked: Omit<RankedNode, 'penalised'>): BaseScore {
    return {
      binpack: fitScore(this.algorithm, ranked.used, ranked.capacity) / MAX_FIT_SCORE,
      antiAffinity: ranked.collisions > 0 ? -(ranked.collisions + 1) / this.group.Count : 0,
      affinity: this.hasAffinities ? this.affinityOf(ranked.node) : 0,
      devices: this.deviceWeight > 0 ? ranked.matchedDeviceWeight / this.deviceWeight : null,
    };
  }

  /** The spread score of the node after the placements so far (11.2). */
  spreadOf(node: Node): number {
    return this.spread.of(node);
  }

  /** Nodes with the same text have the same spread score; undefined: it depends on the order of the queries. */
  spreadClassOf(node: Node): string | undefined {
    return this.spread.classOf(node);
  }

  /**
   * Sum of the contributions beside penalty and spread. Without a collision the anti-affinity is 0; every collision
   * lowers it.
   */
  sumOf(base: BaseScore): { sum: number; contributing: number } {
    let sum = base.binpack;
    let contributing = 1;
    if (base.devices !== null) {
      sum += base.devices;
      contributing++;
    }
    if (base.antiAffinity !== 0) {
      sum += base.antiAffinity;
      contributing++;
    }
    if (this.hasAffinities) {
      sum += base.affinity;
      contributing++;
    }
    return { sum, contributing };
  }

  /** The final score: the mean of the contributions. */
  mean(base: BaseScore, penalised: boolean, spread: number, preemption?: number): number {
    let { sum, contributing } = this.sumOf(base);
    if (penalised) {
      sum -= 1;
      contributing++;
    }
    if (spread !== 0) {
      sum += spread;
      contributing++;
    }
    if (preemption !== undefined) {
      sum += preemption;
      contributing++;
    }
    return sum / contributing;
  }

  score(ranked: RankedNode): Score {
    const base = this.base(ranked);
    const spread = this.spreadOf(ranked.node);
    const normScore = this.mean(base, ranked.penalised, spread);
    return { scores: scoresBy(base, ranked.penalised, spread), normScore };
  }

  private affinityOf(node: Node): number {
    let sum = 0;
    for (const { LTarget, RTarget, Operand, Weight } of this.affinities)
      if (operatorHolds(Operand, resolveTarget(LTarget, node), resolveTarget(RTarget, node))) sum += Weight;
    return sum / this.totalWeight;
  }
}
