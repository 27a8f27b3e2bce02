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
import { judge, judgePreempting, type FittingAfterPreemption, type NodeJudgeDeps } from './node-judge.js';
import { BestFew, PlacementMetric, scoreMeta } from './placement-metric.js';
import type { PropertyUses } from './property-uses.js';
import { Ranking, scoresBy } from './ranking.js';
import { hasPerAllocVolumes } from '../feasibility/volume-feasibility.js';

/** A chosen node, with the resources that the allocation gets there. */
export interface Chosen {
  readonly node: Node;
  readonly resources: AllocatedResources;
  readonly metric: AllocMetric;
  /** Allocations that it preempts (SC-142). */
  readonly victims: readonly Allocation[];
}

/** No node was found; `metric` has the reasons. */
export interface NotPlaced {
  readonly node: undefined;
  readonly metric: AllocMetric;
}

export type Selection = Chosen | NotPlaced;

export interface SelectOptions {
  /** Nodes where this allocation failed before (SC-110). */
  readonly penalised?: ReadonlySet<string>;
  /** Check this node only (SC-44, in-place checks, system jobs). */
  readonly only?: Node;
  /** Name of the allocation: it may have volumes of its own (SC-67). */
  readonly allocName?: string;
  /** Whether allocations of lower priority may be evicted if no other node is found (SC-132). */
  readonly preempt?: boolean;
}

export interface NodeSelectorDeps extends NodeJudgeDeps {
  readonly job: Job;
  /** In shuffled order (SC-41). */
  readonly candidates: Candidates;
  readonly config: SchedulerConfiguration;
  readonly uses: PropertyUses;
}

/** A node that fits after evictions. */
interface PreemptingOption {
  readonly node: Node;
  readonly fitting: FittingAfterPreemption;
  readonly meta: NodeScoreMeta;
}

const NOBODY: ReadonlySet<string> = new Set();

/**
 * Finds a node for one allocation after another (section 11): continues in the ring of candidates where the previous
 * search ended, scores the first ones that are feasible and fit, up to a limit, and takes the best. One for each
 * attempt. Cost of a placement: O(nodes checked), which is the limit if nodes fit, and all of them if none does. A
 * judgement is cached until the plan changes its node (JudgedCandidates), so that a check is O(1).
 */
export class NodeSelector {
  private cursor = 0;
  private readonly asks = new Map<string, GroupAsk>();
  private readonly rankings = new Map<string, Ranking>();
  private readonly judged = new Map<string, JudgedCandidates>();

  constructor(private readonly deps: NodeSelectorDeps) {}

  select(group: TaskGroup, options: SelectOptions = {}): Selection {
    const { penalised = NOBODY, only, allocName = '', preempt = false } = options;
    const ask = this.askFor(group, allocName);
    const metric = new PlacementMetric(this.deps.candidates, this.deps.job.NodePool);
    const found = only ? this.selectOnly(only, ask, penalised, metric) : this.selectAny(ask, penalised, metric);
    if (found.node || !preempt || found.metric.NodesExhausted === 0) return found;
    return (only ? this.preemptOn(only, ask, penalised, metric) : this.preemptAny(ask, penalised, metric)) ?? found;
  }

  private selectOnly(node: Node, ask: GroupAsk, penalised: ReadonlySet<string>, metric: PlacementMetric): Selection {
    metric.evaluated();
    const ranking = this.rankingOf(ask.group);
    ranking.refresh();
    const judgement = judge(node, ask, ranking, this.deps);
    if (judgement.kind !== 'fits') {
      metric.rejected(node, judgement);
      return { node: undefined, metric: metric.finish() };
    }
    const spread = ranking.spreadOf(node);
    const isPenalised = penalised.has(node.ID);
    const score = ranking.mean(judgement.base, isPenalised, spread);
    metric.keepScores([scoreMeta(node, scoresBy(judgement.base, isPenalised, spread), score)]);
    return { node, resources: judgement.resources, metric: metric.finish(), victims: [] };
  }

  /** Chooses among the candidates (SC-43, SC-112, SC-117, SC-118). */
  private selectAny(ask: GroupAsk, penalised: ReadonlySet<string>, metric: PlacementMetric): Selection {
    const { nodes } = this.deps.candidates;
    const judged = this.judgedFor(ask);
    judged.refresh();
    const rejections = judged.noneFits();
    if (rejections) {
      metric.allRejected(rejections);
      return { node: undefined, metric: metric.finish() };
    }
    const choice = new LimitedChoice(this.limitFor(ask.group));
    const best = new BestFew();
    let looked = 0;
    for (let enough = false; looked < nodes.length && !enough; looked++) {
      const index = this.nextInRing();
      // Most candidates are scored from the cache, without a look at the node: that is most of the time of a placement.
      const known = penalised.size === 0 ? judged.knownScore(index) : undefined;
      if (known !== undefined) {
        best.offer(index, known);
        enough = choice.offer(index, known);
        continue;
      }
      const judgement = judged.at(index);
      const node = nodes[index] as Node;
      if (judgement.kind !== 'fits') {
        metric.rejected(node, judgement);
        continue;
      }
      const score = judged.scoreOf(index, judgement, penalised.has(node.ID));
      best.offer(index, score);
      enough = choice.offer(index, score);
    }
    metric.evaluated(looked);
    metric.keepScores(this.scoresOf(best, judged, penalised));
    const chosen = choice.finish();
    const node = nodes[chosen];
    if (!node) return { node: undefined, metric: metric.finish() };
    return { node, resources: judged.fittingAt(chosen).resources, metric: metric.finish(), victims: [] };
  }

  /** Position of the candidate after the one that was looked at last. */
  private nextInRing(): number {
    const index = this.cursor;
    // A comparison costs a tenth of a division, and this runs for each candidate.
    this.cursor = index + 1 === this.deps.candidates.nodes.length ? 0 : index + 1;
    return index;
  }

  /** Searches the ring again for nodes that fit after evictions (section 12), and takes the best of the first ones. */
  private preemptAny(ask: GroupAsk, penalised: ReadonlySet<string>, metric: PlacementMetric): Chosen | undefined {
    const { nodes } = this.deps.candidates;
    const judged = this.judgedFor(ask);
    const choice = new LimitedChoice(this.limitFor(ask.group));
    const options: PreemptingOption[] = [];
    for (let looked = 0, enough = false; looked < nodes.length && !enough; looked++) {
      const index = this.nextInRing();
      const fitting = judged.preemptingAt(index);
      if (!fitting) continue;
      const node = nodes[index] as Node;
      const meta = this.preemptingScore(node, ask, fitting, penalised);
      options.push({ node, fitting, meta });
      enough = choice.offer(options.length - 1, meta.NormScore);
    }
    const chosen = options[choice.finish()];
    return chosen && afterPreemption(chosen, options, metric);
  }

  private preemptOn(
    node: Node,
    ask: GroupAsk,
    penalised: ReadonlySet<string>,
    metric: PlacementMetric,
  ): Chosen | undefined {
    const fitting = judgePreempting(node, ask, this.rankingOf(ask.group), this.deps);
    if (!fitting) return undefined;
    const only = { node, fitting, meta: this.preemptingScore(node, ask, fitting, penalised) };
    return afterPreemption(only, [only], metric);
  }

  private preemptingScore(
    node: Node,
    ask: GroupAsk,
    { base, preemption }: FittingAfterPreemption,
    penalised: ReadonlySet<string>,
  ): NodeScoreMeta {
    const ranking = this.rankingOf(ask.group);
    const [isPenalised, spread] = [penalised.has(node.ID), ranking.spreadOf(node)];
    const score = ranking.mean(base, isPenalised, spread, preemption);
    return scoreMeta(node, { ...scoresBy(base, isPenalised, spread), preemption }, score);
  }

  private scoresOf(best: BestFew, judged: JudgedCandidates, penalised: ReadonlySet<string>): NodeScoreMeta[] {
    return best.map((index, score) => {
      const node = this.deps.candidates.nodes[index] as Node;
      return scoreMeta(node, judged.scoresOf(index, judged.fittingAt(index), penalised.has(node.ID)), score);
    });
  }

  private limitFor(group: TaskGroup): number {
    const { job, config, candidates } = this.deps;
    const spreads = [...(job.Spreads ?? []), ...(group.Spreads ?? [])];
    if (spreads.length > 0 || this.rankingOf(group).hasAffinities)
      return spreadLimit(group.Count, config.NodeLimitForFeasibilityChecks);
    return candidateLimit(job.Type, candidates.nodes.length);
  }

  /** The cached judgements, which allocations with volumes of their own do not share. */
  private judgedFor(ask: GroupAsk): JudgedCandidates {
    const known = ask.allocName === '' ? this.judged.get(ask.group.Name) : undefined;
    if (known) return known;
    const { nodes } = this.deps.candidates;
    const judged = new JudgedCandidates(nodes, ask, this.rankingOf(ask.group), this.deps);
    this.judged.set(ask.group.Name, judged);
    return judged;
  }

  private askFor(group: TaskGroup, allocName: string): GroupAsk {
    let ask = this.asks.get(group.Name);
    if (!ask) this.asks.set(group.Name, (ask = askOf(group, this.deps.config.MemoryOversubscriptionEnabled)));
    return hasPerAllocVolumes(group) ? { ...ask, allocName } : ask;
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

function afterPreemption(
  { node, fitting }: PreemptingOption,
  options: readonly PreemptingOption[],
  metric: PlacementMetric,
): Chosen {
  const best = new BestFew();
  for (const [index, { meta }] of options.entries()) best.offer(index, meta.NormScore);
  metric.keepScores(best.map((index) => (options[index] as PreemptingOption).meta));
  return { node, resources: fitting.resources, metric: metric.finish(), victims: fitting.victims };
}
