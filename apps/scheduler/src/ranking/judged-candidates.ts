import type { Node } from '@waybill/model';
import { REJECTED_CLASS, type Feasibility } from '../feasibility/feasibility.js';
import type { GroupAsk } from './group-ask.js';
import {
  judge,
  judgePreempting,
  type Fitting,
  type FittingAfterPreemption,
  type Judgement,
  type NodeJudgeDeps,
} from './node-judge.js';
import { Rejections } from './placement-metric.js';
import { scoresBy, type Ranking } from './ranking.js';

/** Class of nodes whose spread score depends on the order of queries: computed at every query. */
const UNCLASSED = -1;

/**
 * Caches the judgement of every candidate for one group: a candidate is judged at the first query, and again after the
 * plan changed something on it. One for each group and attempt.
 *
 * Spread scores change with every placement, but are equal for nodes of one class: each class is scored once for each
 * placement. Where feasibility depends on other nodes (`distinct_property`) nothing is cached. Memory: a few words for
 * each candidate. Cost: O(1) for a cached candidate, and to find that none fits any more.
 */
export class JudgedCandidates {
  private readonly known: (Judgement | undefined)[];
  /** Positions of judged candidates, by the node's ID. */
  private readonly indexOf = new Map<string, number>();
  /**
   * Of candidates known to fit: the sum of all contributing scores without the spread, and their number; 0: not known
   * to fit.
   */
  private readonly sums: Float64Array;
  private readonly contributing: Uint8Array;
  private readonly spreadClass: Int32Array;
  private readonly spreadClasses = new Map<string, number>();
  /** By class: the score, and the number of the placement it is valid for. */
  private readonly spreadScores: number[] = [];
  private readonly spreadOfPlacement: number[] = [];
  private placement = 0;
  private seen = 0;
  private readonly remembers: boolean;
  /** Candidates known not to fit; unjudged candidates and fitting ones are `open`. */
  private readonly rejections = new Rejections();
  private open: number;
  /** Candidates that are open again because the plan changed them. */
  private readonly reopened = new Set<number>();
  /** 1: known not to fit even with evictions. */
  private readonly hopeless: Uint8Array;

  constructor(
    private readonly nodes: readonly Node[],
    private readonly ask: GroupAsk,
    private readonly ranking: Ranking,
    private readonly deps: NodeJudgeDeps,
  ) {
    this.open = nodes.length;
    this.hopeless = new Uint8Array(nodes.length);
    this.known = Array.from({ length: nodes.length });
    this.sums = new Float64Array(nodes.length);
    this.contributing = new Uint8Array(nodes.length);
    this.spreadClass = new Int32Array(nodes.length).fill(UNCLASSED);
    this.remembers = !feasibilityOf(deps).dependsOnOtherNodes(ask.group);
  }

  /** Must be called before every placement: drops the judgements of candidates that the plan has changed since. */
  refresh(): void {
    this.ranking.refresh();
    this.placement++;
    const { touchedNodes } = this.deps.plan;
    for (; this.seen < touchedNodes.length; this.seen++) {
      const index = this.indexOf.get(touchedNodes[this.seen] as string);
      if (index === undefined) continue;
      this.forget(index);
      this.hopeless[index] = 0;
      this.contributing[index] = 0;
    }
  }

  /**
   * The rejections of all candidates, if none fits by what is cached. Cost: O(candidates that the plan has changed).
   */
  noneFits(): Rejections | undefined {
    if (this.open > this.reopened.size) return undefined;
    for (const index of this.reopened) this.at(index);
    this.reopened.clear();
    return this.open === 0 ? this.rejections : undefined;
  }

  /**
   * The judgement if allocations of lower priority are evicted; undefined: it does not fit even then. Cost: as
   * `judgePreempting`.
   */
  preemptingAt(index: number): FittingAfterPreemption | undefined {
    if (this.hopeless[index] === 1) return undefined;
    const judgement = judgePreempting(this.nodes[index] as Node, this.ask, this.ranking, this.deps);
    if (!judgement && this.remembers) this.hopeless[index] = 1;
    return judgement;
  }

  /** The score of a candidate that is known to fit and has no penalty; undefined: call `at`. */
  knownScore(index: number): number | undefined {
    const contributing = this.contributing[index] as number;
    if (contributing === 0) return undefined;
    const spread = this.spreadOf(index);
    const sum = this.sums[index] as number;
    return spread === 0 ? sum / contributing : (sum + spread) / (contributing + 1);
  }

  /** The judgement of a candidate that was scored, and so fits. */
  fittingAt(index: number): Fitting {
    return this.at(index) as Fitting;
  }

  at(index: number): Judgement {
    const known = this.known[index];
    if (known) return known;
    const node = this.nodes[index] as Node;
    const judgement = judge(node, this.ask, this.ranking, this.deps);
    if (this.remembers) this.remember(index, node, judgement);
    return judgement;
  }

  /** The score of a candidate that fits. */
  scoreOf(index: number, judgement: Fitting, penalised: boolean): number {
    return this.ranking.mean(judgement.base, penalised, this.spreadOf(index));
  }

  scoresOf(index: number, judgement: Fitting, penalised: boolean): Record<string, number> {
    return scoresBy(judgement.base, penalised, this.spreadOf(index));
  }

  /** Caches a judgement. The next query gets the class as the reason (SC-53). */
  private remember(index: number, node: Node, judgement: Judgement): void {
    this.indexOf.set(node.ID, index);
    if (judgement.kind !== 'fits') {
      const byClass = judgement.kind === 'filtered' && feasibilityOf(this.deps).isRejectedClass(node, this.ask.group);
      const rejection: Judgement = byClass ? { kind: 'filtered', reason: REJECTED_CLASS } : judgement;
      this.known[index] = rejection;
      this.rejections.count(node, rejection);
      this.open--;
      return;
    }
    this.known[index] = judgement;
    const { sum, contributing } = this.ranking.sumOf(judgement.base);
    this.sums[index] = sum;
    this.contributing[index] = contributing;
    if (this.spreadClass[index] !== UNCLASSED) return;
    const name = this.ranking.spreadClassOf(node);
    if (name === undefined) return;
    let spreadClass = this.spreadClasses.get(name);
    if (spreadClass === undefined) this.spreadClasses.set(name, (spreadClass = this.spreadClasses.size));
    this.spreadClass[index] = spreadClass;
  }

  private forget(index: number): void {
    const before = this.known[index];
    if (before && before.kind !== 'fits') {
      this.open++;
      this.reopened.add(index);
      this.rejections.count(this.nodes[index] as Node, before, -1);
    }
    this.known[index] = undefined;
  }

  private spreadOf(index: number): number {
    const node = this.nodes[index] as Node;
    const spreadClass = this.spreadClass[index] as number;
    if (spreadClass === UNCLASSED) return this.ranking.spreadOf(node);
    if (this.spreadOfPlacement[spreadClass] !== this.placement) {
      this.spreadOfPlacement[spreadClass] = this.placement;
      this.spreadScores[spreadClass] = this.ranking.spreadOf(node);
    }
    return this.spreadScores[spreadClass] as number;
  }
}

const feasibilityOf = ({ feasibility }: NodeJudgeDeps): Feasibility => feasibility;
