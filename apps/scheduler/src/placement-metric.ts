import type { AllocMetric, Node, NodeScoreMeta, Resources, TaskGroup } from '@waybill/model';
import type { Candidates } from './candidate-nodes.js';

/** Nodes whose scores an allocation keeps (SC-113). */
export const KEPT_SCORES = 5;

/** Gathers why a placement went where it went, or nowhere: one per placement tried. */
export class PlacementMetric {
  private readonly metric: AllocMetric;

  constructor(candidates: Candidates, nodePool: string) {
    this.metric = {
      NodesEvaluated: 0,
      NodesFiltered: 0,
      NodesInPool: candidates.nodes.length,
      NodePool: nodePool,
      NodesAvailable: candidates.perDatacenter,
      ClassFiltered: null,
      ConstraintFiltered: null,
      NodesExhausted: 0,
      ClassExhausted: null,
      DimensionExhausted: null,
      QuotaExhausted: null,
      ResourcesExhausted: null,
      Scores: null,
      ScoreMetaData: null,
      AllocationTime: 0,
      CoalescedFailures: 0,
    };
  }

  evaluated(nodes = 1): void {
    this.metric.NodesEvaluated += nodes;
  }

  filtered(node: Node, reason: string): void {
    const m = this.metric;
    m.NodesFiltered++;
    m.ConstraintFiltered = counted(m.ConstraintFiltered, reason);
    if (node.NodeClass) m.ClassFiltered = counted(m.ClassFiltered, node.NodeClass);
  }

  exhausted(node: Node, dimension: string): void {
    const m = this.metric;
    m.NodesExhausted++;
    m.DimensionExhausted = counted(m.DimensionExhausted, dimension);
    if (node.NodeClass) m.ClassExhausted = counted(m.ClassExhausted, node.NodeClass);
  }

  /** SC-113. */
  keepScores(best: readonly NodeScoreMeta[]): void {
    if (best.length > 0) this.metric.ScoreMetaData = [...best];
  }

  finish(): AllocMetric {
    return this.metric;
  }
}

/** The metadata of one scored node. */
export function scoreMeta(node: Node, scores: Record<string, number>, normScore: number): NodeScoreMeta {
  return { NodeID: node.ID, Scores: { ...scores, 'normalized-score': normScore }, NormScore: normScore };
}

/** The best few of many scored options, best first, the first of equals before the others (SC-113). Constant memory. */
export class BestFew {
  private readonly options: number[] = [];
  private readonly scores: number[] = [];

  offer(option: number, score: number): void {
    const { options, scores } = this;
    if (scores.length >= KEPT_SCORES && score <= (scores[KEPT_SCORES - 1] ?? 0)) return;
    let at = scores.length;
    while (at > 0 && (scores[at - 1] ?? 0) < score) at--;
    options.splice(at, 0, option);
    scores.splice(at, 0, score);
    if (options.length > KEPT_SCORES) {
      options.length = KEPT_SCORES;
      scores.length = KEPT_SCORES;
    }
  }

  map<T>(made: (option: number, score: number) => T): T[] {
    return this.options.map((option, i) => made(option, this.scores[i] ?? 0));
  }
}

/** SC-28, SC-30: what a group asked for while that dimension was exhausted, added to a failure's metric. */
export function withExhaustedResources(metric: AllocMetric, group: TaskGroup): AllocMetric {
  const { DimensionExhausted: dimensions } = metric;
  if (dimensions === null) return metric;
  const exhausted: Record<string, Resources> = { ...metric.ResourcesExhausted };
  for (const task of group.Tasks) {
    const sum = exhausted[task.Name] ?? NOTHING;
    exhausted[task.Name] = {
      ...sum,
      CPU: sum.CPU + ((dimensions['cpu'] ?? 0) > 0 ? task.Resources.CPU : 0),
      MemoryMB: sum.MemoryMB + ((dimensions['memory'] ?? 0) > 0 ? task.Resources.MemoryMB : 0),
    };
  }
  return { ...metric, ResourcesExhausted: exhausted };
}

const NOTHING: Resources = {
  CPU: 0,
  Cores: 0,
  MemoryMB: 0,
  MemoryMaxMB: 0,
  DiskMB: 0,
  IOPS: 0,
  Networks: null,
  Devices: null,
  NUMA: null,
  SecretsMB: 0,
};

function counted(map: Record<string, number> | null, key: string): Record<string, number> {
  const counts = map ?? {};
  counts[key] = (counts[key] ?? 0) + 1;
  return counts;
}
