import type {
  AllocatedResources,
  Allocation,
  AllocMetric,
  Job,
  Node,
  NodeScoreMeta,
  SchedulerConfiguration,
  TaskGroup,
} from '@waybill/model';
import { candidateLimit, LimitedChoice, spreadLimit } from './candidate-limit.js';
import type { Candidates } from './candidate-nodes.js';
import { askOf, type GroupAsk } from './group-ask.js';
import { JudgedCandidates } from './judged-candidates.js';
import {
  judge,
  judgePreempting,
  type FittingAfterPreemption,
  type Judgement,
  type NodeJudgeDeps,
} from './node-judge.js';
import { BestFew, PlacementMetric, scoreMeta } from './placement-metric.js';
import type { PropertyUses } from './property-uses.js';
import { Ranking, scoresBy } from './ranking.js';

/** A node that was chosen, and what the allocation gets there. */
export interface Chosen {
  readonly node: Node;
  readonly resources: AllocatedResources;
  readonly metric: AllocMetric;
  /** Whom it displaces (SC-142). */
  readonly victims: readonly Allocation[];
}

/** No node: `metric` says why. */
export interface NotPlaced {
  readonly node: undefined;
  readonly metric: AllocMetric;
}

export type Selection = Chosen | NotPlaced;

export interface SelectOptions {
  /** Nodes where this allocation failed before (SC-110). */
  readonly penalised?: ReadonlySet<string>;
  /** Look at this node only (SC-44, in-place checks, system jobs). */
  readonly only?: Node;
  /** Less important allocations may be evicted if nothing else is found (SC-132). */
  readonly preempt?: boolean;
}

export interface NodeSelectorDeps extends NodeJudgeDeps {
  readonly job: Job;
  /** Shuffled already (SC-41). */
  readonly candidates: Candidates;
  readonly config: SchedulerConfiguration;
  readonly uses: PropertyUses;
}

const NOBODY: ReadonlySet<string> = new Set();

/**
 * Finds a node for one allocation after the other (section 11): walks the ring of candidates from where it stopped last
 * time, scores the first that are feasible and fit, up to a limit, and takes the best. One per attempt.
 * Cost per placement: O(nodes looked at): the limit if nodes fit, all of them if none does. What is known of a node is
 * kept until the plan changes it (JudgedCandidates), so a look is O(1).
 */
export class NodeSelector {
  private cursor = 0;
  private indexOfNode: ReadonlyMap<string, number> | undefined;
  private readonly asks = new Map<string, GroupAsk>();
  private readonly rankings = new Map<string, Ranking>();
  private readonly judged = new Map<string, JudgedCandidates>();

  constructor(private readonly deps: NodeSelectorDeps) {}

  select(group: TaskGroup, { penalised = NOBODY, only, preempt = false }: SelectOptions = {}): Selection {
    const metric = new PlacementMetric(this.deps.candidates, this.deps.job.NodePool);
    const found = only ? this.selectOnly(only, group, penalised, metric) : this.selectAny(group, penalised, metric);
    if (found.node || !preempt || found.metric.NodesExhausted === 0) return found;
    const nodes = only ? [only] : this.deps.candidates.nodes;
    return this.selectPreempting(nodes, group, penalised, metric) ?? found;
  }

  private selectOnly(node: Node, group: TaskGroup, penalised: ReadonlySet<string>, metric: PlacementMetric): Selection {
    metric.evaluated();
    const ranking = this.rankingOf(group);
    ranking.refresh();
    const judgement = judge(node, this.askFor(group), ranking, this.deps);
    if (judgement.kind !== 'fits') {
      note(node, judgement, metric);
      return { node: undefined, metric: metric.finish() };
    }
    const spread = ranking.spreadOf(node);
    const isPenalised = penalised.has(node.ID);
    const scores = scoresBy(judgement.base, isPenalised, spread);
    metric.keepScores([scoreMeta(node, scores, ranking.mean(judgement.base, isPenalised, spread))]);
    return { node, resources: judgement.resources, metric: metric.finish(), victims: [] };
  }

  /** SC-43, SC-112, SC-117, SC-118. */
  private selectAny(group: TaskGroup, penalised: ReadonlySet<string>, metric: PlacementMetric): Selection {
    const { nodes } = this.deps.candidates;
    const judged = this.judgedFor(group);
    judged.refresh();
    const choice = new LimitedChoice(this.limitFor(group));
    const best = new BestFew();
    let looked = 0;
    for (let enough = false; looked < nodes.length && !enough; looked++) {
      const index = this.cursor;
      this.cursor = index + 1 === nodes.length ? 0 : index + 1;
      const known = penalised.size === 0 ? judged.knownScore(index) : undefined;
      if (known !== undefined) {
        best.offer(index, known);
        enough = choice.offer(index, known);
        continue;
      }
      const node = nodes[index];
      const judgement = judged.at(index);
      if (!node || !judgement) continue;
      if (judgement.kind !== 'fits') {
        note(node, judgement, metric);
        continue;
      }
      const score = judged.scoreOf(index, judgement, penalised.size > 0 && penalised.has(node.ID));
      best.offer(index, score);
      enough = choice.offer(index, score);
    }
    metric.evaluated(looked);
    metric.keepScores(this.scoresOf(best, judged, penalised));
    const chosen = choice.finish();
    const node = nodes[chosen];
    const judgement = node && judged.at(chosen);
    if (!node || judgement?.kind !== 'fits') return { node: undefined, metric: metric.finish() };
    return { node, resources: judgement.resources, metric: metric.finish(), victims: [] };
  }

  /** Section 12: all that were found full are looked at again, the best of the first that can be made to fit is taken. */
  private selectPreempting(
    nodes: readonly Node[],
    group: TaskGroup,
    penalised: ReadonlySet<string>,
    metric: PlacementMetric,
  ): Chosen | undefined {
    const ranking = this.rankingOf(group);
    const ask = this.askFor(group);
    const choice = new LimitedChoice(nodes.length === 1 ? 1 : this.limitFor(group));
    const fitting: { node: Node; judged: FittingAfterPreemption; meta: NodeScoreMeta }[] = [];
    for (const node of nodes) {
      const judged = judgePreempting(node, ask, ranking, this.deps);
      if (!judged) continue;
      const [isPenalised, spread] = [penalised.has(node.ID), ranking.spreadOf(node)];
      const score = ranking.mean(judged.base, isPenalised, spread, judged.preemption);
      const scores = { ...scoresBy(judged.base, isPenalised, spread), preemption: judged.preemption };
      fitting.push({ node, judged, meta: scoreMeta(node, scores, score) });
      if (choice.offer(fitting.length - 1, score)) break;
    }
    const chosen = fitting[choice.finish()];
    if (!chosen) return undefined;
    const best = new BestFew();
    for (const [option, { meta }] of fitting.entries()) best.offer(option, meta.NormScore);
    metric.keepScores(best.map((option) => fitting[option]?.meta ?? chosen.meta));
    const { node, judged } = chosen;
    return { node, resources: judged.resources, metric: metric.finish(), victims: judged.victims };
  }

  private scoresOf(best: BestFew, judged: JudgedCandidates, penalised: ReadonlySet<string>): NodeScoreMeta[] {
    return best.map((index, score) => {
      const node = this.deps.candidates.nodes[index];
      const judgement = judged.at(index);
      if (!node || judgement?.kind !== 'fits') throw new Error(`candidate ${index} was scored and does not fit`);
      return scoreMeta(node, judged.scoresOf(index, judgement, penalised.has(node.ID)), score);
    });
  }

  private limitFor(group: TaskGroup): number {
    const { job, config, candidates } = this.deps;
    const spread = (job.Spreads?.length ?? 0) + (group.Spreads?.length ?? 0) > 0;
    if (spread || this.rankingOf(group).hasAffinities)
      return spreadLimit(group.Count, config.NodeLimitForFeasibilityChecks);
    return candidateLimit(job.Type, candidates.nodes.length);
  }

  private judgedFor(group: TaskGroup): JudgedCandidates {
    let judged = this.judged.get(group.Name);
    if (!judged) {
      const { nodes } = this.deps.candidates;
      this.indexOfNode ??= new Map(nodes.map((node, index) => [node.ID, index]));
      judged = new JudgedCandidates(nodes, this.indexOfNode, this.askFor(group), this.rankingOf(group), this.deps);
      this.judged.set(group.Name, judged);
    }
    return judged;
  }

  private askFor(group: TaskGroup): GroupAsk {
    let ask = this.asks.get(group.Name);
    if (!ask) this.asks.set(group.Name, (ask = askOf(group, this.deps.config.MemoryOversubscriptionEnabled)));
    return ask;
  }

  private rankingOf(group: TaskGroup): Ranking {
    let ranking = this.rankings.get(group.Name);
    if (!ranking) {
      const { job, config, uses } = this.deps;
      ranking = new Ranking(job, group, config.SchedulerAlgorithm, (attribute) => uses.counts(attribute, group.Name));
      this.rankings.set(group.Name, ranking);
    }
    return ranking;
  }
}

function note(node: Node, judgement: Judgement & { kind: 'filtered' | 'exhausted' }, metric: PlacementMetric): void {
  if (judgement.kind === 'filtered') metric.filtered(node, judgement.reason);
  else metric.exhausted(node, judgement.reason);
}
