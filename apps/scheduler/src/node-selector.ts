import {
  capacityOf,
  NetworkIndex,
  usageOf,
  type AllocatedResources,
  type AllocMetric,
  type Amounts,
  type Job,
  type NetworkResource,
  type Node,
  type SchedulerConfiguration,
  type TaskGroup,
} from '@waybill/model';
import { candidateLimit, spreadLimit, upToLimit } from './candidate-limit.js';
import type { Candidates } from './candidate-nodes.js';
import { resolveTarget } from './constraint-targets.js';
import type { Feasibility } from './feasibility.js';
import { askOf, withCores, withPorts, type GroupAsk } from './group-ask.js';
import { PlacementMetric } from './placement-metric.js';
import type { PlanDraft } from './plan-draft.js';
import type { PropertyUses } from './property-uses.js';
import { Ranking, type Score } from './ranking.js';

/** A node that was chosen, and what the allocation gets there. */
export interface Chosen {
  readonly node: Node;
  readonly resources: AllocatedResources;
  readonly metric: AllocMetric;
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
  /** Look at these nodes only (SC-44, in-place checks, system jobs). */
  readonly only?: readonly Node[];
}

interface Option {
  readonly node: Node;
  readonly resources: AllocatedResources;
  readonly score: Score;
}

export interface NodeSelectorDeps {
  readonly job: Job;
  /** Shuffled already (SC-41). */
  readonly candidates: Candidates;
  readonly feasibility: Feasibility;
  readonly plan: PlanDraft;
  readonly config: SchedulerConfiguration;
  readonly uses: PropertyUses;
  /** In [0, 1), seeded. */
  readonly random: () => number;
}

/**
 * Finds a node for one allocation after the other (section 11): walks the ring of candidates from where it stopped last
 * time, scores the first that are feasible and fit, up to a limit, and takes the best. One per attempt.
 * Cost per placement: O(nodes looked at): the limit if nodes fit, all of them if none does.
 */
export class NodeSelector {
  private at = 0;
  private readonly asks = new Map<string, GroupAsk>();
  private readonly rankings = new Map<string, Ranking>();

  constructor(private readonly deps: NodeSelectorDeps) {}

  select(group: TaskGroup, options: SelectOptions = {}): Selection {
    const metric = new PlacementMetric(this.deps.candidates, this.deps.job.NodePool);
    const best = this.best(group, options, metric);
    if (!best) return { node: undefined, metric: metric.finish() };
    return { node: best.node, resources: best.resources, metric: metric.finish() };
  }

  /** SC-112: the highest score, the first seen on a tie. */
  private best(group: TaskGroup, options: SelectOptions, metric: PlacementMetric): Option | undefined {
    this.rankingOf(group).refresh();
    const limit = options.only ? options.only.length : this.limitFor(group);
    let best: Option | undefined;
    for (const option of upToLimit(this.options(group, options, metric), (o) => o.score.normScore, limit))
      if (!best || option.score.normScore > best.score.normScore) best = option;
    return best;
  }

  private *options(group: TaskGroup, options: SelectOptions, metric: PlacementMetric): IterableIterator<Option> {
    for (const node of options.only ?? this.ring()) {
      const option = this.tryNode(node, group, options, metric);
      if (!option) continue;
      metric.scored(node, option.score.scores, option.score.normScore);
      yield option;
    }
  }

  /** SC-43: every candidate at most once, beginning where the last selection stopped. */
  private *ring(): IterableIterator<Node> {
    const { nodes } = this.deps.candidates;
    for (let i = 0; i < nodes.length; i++) {
      const node = nodes[this.at % nodes.length];
      this.at = (this.at + 1) % nodes.length;
      if (node) yield node;
    }
  }

  private limitFor(group: TaskGroup): number {
    const { job, config, candidates } = this.deps;
    const spread = (job.Spreads?.length ?? 0) + (group.Spreads?.length ?? 0) > 0;
    if (spread || this.rankingOf(group).hasAffinities)
      return spreadLimit(group.Count, config.NodeLimitForFeasibilityChecks);
    return candidateLimit(job.Type, candidates.nodes.length);
  }

  private tryNode(node: Node, group: TaskGroup, options: SelectOptions, metric: PlacementMetric): Option | undefined {
    metric.evaluated();
    const infeasible = this.deps.feasibility.whyNot(node, group);
    if (infeasible !== undefined) {
      metric.filtered(node, infeasible);
      return undefined;
    }
    const fitted = this.fit(node, this.askFor(group));
    if ('exhausted' in fitted) {
      metric.exhausted(node, fitted.exhausted);
      return undefined;
    }
    const { job } = this.deps;
    const collisions = this.deps.plan
      .proposed(node)
      .filter((a) => a.JobID === job.ID && a.Namespace === job.Namespace && a.TaskGroup === group.Name).length;
    const score = this.rankingOf(group).score({
      node,
      used: fitted.used,
      capacity: capacityOf(node),
      collisions,
      penalised: options.penalised?.has(node.ID) ?? false,
    });
    return { node, resources: fitted.resources, score };
  }

  /** Ports first, then cores, then amounts, as the reasons come out (SC-83 to SC-103). */
  private fit(node: Node, ask: GroupAsk): { used: Amounts; resources: AllocatedResources } | { exhausted: string } {
    const view = this.deps.plan.viewOf(node.ID);
    let { resources } = ask;
    if (ask.network) {
      const index = NetworkIndex.ofNode(node);
      if (index.invalid) return { exhausted: 'network: invalid node' };
      for (const alloc of view.allocs)
        if (index.addAllocation(alloc) !== undefined) return { exhausted: 'network: port collision' };
      const offer = index.offer(resolvedHostNetworks(ask.network, node), this.deps.random);
      if ('error' in offer) return { exhausted: `network: ${offer.error}` };
      resources = withPorts(resources, offer.ports, offer.network);
    }
    const withOwnCores = withCores(ask, resources, node, view.allocs);
    if (!withOwnCores) return { exhausted: 'cores' };
    const usage = ask.cores > 0 ? usageOf(withOwnCores) : ask.usage;
    const used: Amounts = {
      cpuMhz: view.used.cpuMhz + usage.cpuMhz,
      memoryMB: view.used.memoryMB + usage.memoryMB,
      diskMB: view.used.diskMB + usage.diskMB,
    };
    const capacity = capacityOf(node);
    if (node.NodeMaxAllocs > 0 && view.allocs.length + 1 > node.NodeMaxAllocs)
      return { exhausted: 'max allocation exceeded' };
    if (used.cpuMhz > capacity.cpuMhz) return { exhausted: 'cpu' };
    if (used.memoryMB > capacity.memoryMB) return { exhausted: 'memory' };
    if (used.diskMB > capacity.diskMB) return { exhausted: 'disk' };
    return { used, resources: withOwnCores };
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

/** SC-66: feasibility has made sure that they resolve. */
function resolvedHostNetworks(network: NetworkResource, node: Node): NetworkResource {
  const resolve = (ports: NetworkResource['ReservedPorts']): NetworkResource['ReservedPorts'] =>
    ports?.map((port) => ({ ...port, HostNetwork: resolveTarget(port.HostNetwork, node) ?? '' })) ?? null;
  return { ...network, ReservedPorts: resolve(network.ReservedPorts), DynamicPorts: resolve(network.DynamicPorts) };
}
