import type { AllocMetric, Node, NodeScoreMeta, Resources, TaskGroup } from '@waybill/model';
import type { Candidates } from './candidate-nodes.js';

/** Nodes whose scores an allocation keeps (SC-113). */
export const KEPT_SCORES = 5;

/** Gathers why a placement went where it went, or nowhere: one per placement tried. */
export class PlacementMetric {
  private readonly scores: NodeScoreMeta[] = [];
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

  evaluated(): void {
    this.metric.NodesEvaluated++;
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

  scored(node: Node, scores: Record<string, number>, normScore: number): void {
    const worst = this.scores.at(-1);
    if (this.scores.length >= KEPT_SCORES && worst && normScore <= worst.NormScore) return;
    this.scores.push({ NodeID: node.ID, Scores: { ...scores, 'normalized-score': normScore }, NormScore: normScore });
    this.scores.sort((a, b) => b.NormScore - a.NormScore);
    this.scores.length = Math.min(this.scores.length, KEPT_SCORES);
  }

  /** @param tookMs time spent selecting */
  finish(tookMs = 0): AllocMetric {
    return {
      ...this.metric,
      ScoreMetaData: this.scores.length > 0 ? this.scores : null,
      AllocationTime: Math.round(tookMs * 1e6),
    };
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
  return { ...map, [key]: (map?.[key] ?? 0) + 1 };
}
