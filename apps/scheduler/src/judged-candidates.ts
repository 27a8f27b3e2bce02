import type { Node } from '@waybill/model';
import { REJECTED_CLASS, type Feasibility } from './feasibility.js';
import type { GroupAsk } from './group-ask.js';
import { judge, type Judgement, type NodeJudgeDeps } from './node-judge.js';
import { scoresBy, type Ranking } from './ranking.js';

/** Class of nodes whose spread score depends on the order of questions: asked anew every time. */
const UNCLASSED = -1;

/**
 * What is known of every candidate for one group: each is judged when it is first looked at, and again only after the plan
 * changed something of it. One per group and attempt.
 *
 * Spread scores change with every placement, but only per class of nodes with the same values: each class is scored once
 * per placement. Where feasibility depends on other nodes (`distinct_property`) nothing is remembered.
 * Memory: a few words per candidate. Cost: looking at a known candidate is O(1).
 */
export class JudgedCandidates {
  private readonly known: (Judgement | undefined)[];
  /** Of those known to fit: what all contributing scores but the spread add up to, and how many; 0: not known to fit. */
  private readonly sums: Float64Array;
  private readonly contributing: Uint8Array;
  private readonly spreadClass: Int32Array;
  private readonly spreadClasses = new Map<string, number>();
  /** By class: the score, and the placement it is of. */
  private readonly spreadScores: number[] = [];
  private readonly spreadOfPlacement: number[] = [];
  private placement = 0;
  private seen = 0;
  private readonly remembers: boolean;

  constructor(
    private readonly nodes: readonly Node[],
    private readonly indexOf: ReadonlyMap<string, number>,
    private readonly ask: GroupAsk,
    private readonly ranking: Ranking,
    private readonly deps: NodeJudgeDeps,
  ) {
    this.known = Array.from({ length: nodes.length });
    this.sums = new Float64Array(nodes.length);
    this.contributing = new Uint8Array(nodes.length);
    this.spreadClass = new Int32Array(nodes.length).fill(UNCLASSED);
    this.remembers = !feasibilityOf(deps).dependsOnOtherNodes(ask.group);
  }

  /** Before every placement: forgets what the plan has changed since the last. */
  refresh(): void {
    this.ranking.refresh();
    this.placement++;
    const { touchedNodes } = this.deps.plan;
    for (; this.seen < touchedNodes.length; this.seen++) {
      const index = this.indexOf.get(touchedNodes[this.seen] ?? '');
      if (index === undefined) continue;
      this.known[index] = undefined;
      this.contributing[index] = 0;
    }
  }

  /** The whole score of a candidate that is known to fit and not penalised; undefined: ask `at`. */
  knownScore(index: number): number | undefined {
    const contributing = this.contributing[index] ?? 0;
    if (contributing === 0) return undefined;
    const spread = this.spreadOf(index);
    const sum = this.sums[index] ?? 0;
    return spread === 0 ? sum / contributing : (sum + spread) / (contributing + 1);
  }

  at(index: number): Judgement | undefined {
    const known = this.known[index];
    if (known) return known;
    const node = this.nodes[index];
    if (!node) return undefined;
    const judgement = judge(node, this.ask, this.ranking, this.deps);
    if (this.remembers) this.remember(index, node, judgement);
    return judgement;
  }

  /** The whole score of a candidate that fits. */
  scoreOf(index: number, judgement: Judgement & { kind: 'fits' }, penalised: boolean): number {
    return this.ranking.mean(judgement.base, penalised, this.spreadOf(index));
  }

  scoresOf(index: number, judgement: Judgement & { kind: 'fits' }, penalised: boolean): Record<string, number> {
    return scoresBy(judgement.base, penalised, this.spreadOf(index));
  }

  /** The next time it is its class that says no (SC-53). */
  private remember(index: number, node: Node, judgement: Judgement): void {
    const byClass = judgement.kind === 'filtered' && feasibilityOf(this.deps).isRejectedClass(node, this.ask.group);
    this.known[index] = byClass ? { kind: 'filtered', reason: REJECTED_CLASS } : judgement;
    if (judgement.kind !== 'fits') return;
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

  private spreadOf(index: number): number {
    const spreadClass = this.spreadClass[index] ?? UNCLASSED;
    if (spreadClass !== UNCLASSED && this.spreadOfPlacement[spreadClass] === this.placement)
      return this.spreadScores[spreadClass] ?? 0;
    const node = this.nodes[index];
    const score = node ? this.ranking.spreadOf(node) : 0;
    if (spreadClass !== UNCLASSED) {
      this.spreadOfPlacement[spreadClass] = this.placement;
      this.spreadScores[spreadClass] = score;
    }
    return score;
  }
}

const feasibilityOf = ({ feasibility }: NodeJudgeDeps): Feasibility => feasibility;
