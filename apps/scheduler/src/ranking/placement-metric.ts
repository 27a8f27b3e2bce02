import type { AllocMetric, Node, NodeScoreMeta, Resources, TaskGroup } from '@waybill/model';
import type { Candidates } from './candidate-nodes.js';

/** Nodes whose scores an allocation keeps (SC-113). */
export const KEPT_SCORES = 5;

/** Why a node is unsuitable for a group: it never is suitable (`filtered`), or its resources are exhausted now. */
export interface Rejection {
  readonly kind: 'filtered' | 'exhausted';
  readonly reason: string;
}

/** The number of unsuitable nodes for a group, by reason, and by the node class of the operator (SC-49). */
export class Rejections {
  private filtered = 0;
  private exhausted = 0;
  private readonly filteredFor = new Map<string, number>();
  private readonly exhaustedFor = new Map<string, number>();
  private readonly filteredOfClass = new Map<string, number>();
  private readonly exhaustedOfClass = new Map<string, number>();

  /** @param by -1: removes it, because the node is judged anew */
  count({ NodeClass }: Node, { kind, reason }: Rejection, by: 1 | -1 = 1): void {
    if (kind === 'filtered') {
      this.filtered += by;
      add(this.filteredFor, reason, by);
      if (NodeClass) add(this.filteredOfClass, NodeClass, by);
    } else {
      this.exhausted += by;
      add(this.exhaustedFor, reason, by);
      if (NodeClass) add(this.exhaustedOfClass, NodeClass, by);
    }
  }

  writeTo(metric: AllocMetric): void {
    metric.NodesFiltered = this.filtered;
    metric.NodesExhausted = this.exhausted;
    metric.ConstraintFiltered = recordOf(this.filteredFor);
    metric.DimensionExhausted = recordOf(this.exhaustedFor);
    metric.ClassFiltered = recordOf(this.filteredOfClass);
    metric.ClassExhausted = recordOf(this.exhaustedOfClass);
  }
}

function add(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}

const recordOf = (counts: ReadonlyMap<string, number>): Record<string, number> | null =>
  counts.size > 0 ? Object.fromEntries(counts) : null;

/** Collects why an allocation was placed where it was, or nowhere: one for each attempted placement. */
export class PlacementMetric {
  private readonly metric: AllocMetric;
  private rejections: Rejections | undefined;

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

  rejected(node: Node, rejection: Rejection): void {
    this.rejections ??= new Rejections();
    this.rejections.count(node, rejection);
  }

  /** Counts the rejections of all candidates at once. */
  allRejected(rejections: Rejections): void {
    this.metric.NodesEvaluated = this.metric.NodesInPool;
    this.rejections = rejections;
  }

  /** Keeps the scores of the best nodes (SC-113). */
  keepScores(best: readonly NodeScoreMeta[]): void {
    if (best.length > 0) this.metric.ScoreMetaData = [...best];
  }

  finish(): AllocMetric {
    this.rejections?.writeTo(this.metric);
    return this.metric;
  }
}

/** The metadata of one scored node. @param scores by scorer, the mean included */
export function scoreMeta(node: Node, scores: Record<string, number>, normScore: number): NodeScoreMeta {
  return { NodeID: node.ID, Scores: scores, NormScore: normScore };
}

/**
 * The best few of many scored options, best first; of equal scores the first one comes first (SC-113). Constant memory.
 */
export class BestFew {
  private readonly kept: { readonly option: number; readonly score: number }[] = [];
  /** The lowest kept score once the list is full. Most options do not exceed it, and cost one comparison. */
  private threshold = -Infinity;

  offer(option: number, score: number): void {
    if (score <= this.threshold) return;
    const { kept } = this;
    const lower = kept.findIndex((one) => one.score < score);
    kept.splice(lower === -1 ? kept.length : lower, 0, { option, score });
    if (kept.length > KEPT_SCORES) kept.pop();
    if (kept.length === KEPT_SCORES) this.threshold = (kept.at(-1) as { score: number }).score;
  }

  map<T>(made: (option: number, score: number) => T): T[] {
    return this.kept.map(({ option, score }) => made(option, score));
  }
}

/**
 * Adds to a failure's metric the resources that a group requested while their dimension was exhausted (SC-28, SC-30).
 */
export function withExhaustedResources(metric: AllocMetric, group: TaskGroup): AllocMetric {
  const { DimensionExhausted: dimensions } = metric;
  if (dimensions === null) return metric;
  const exhausted: Record<string, Resources> = { ...metric.ResourcesExhausted };
  for (const task of group.Tasks) {
    const sum = exhausted[task.Name] ?? NOTHING;
    exhausted[task.Name] = {
      ...sum,
      CPU: sum.CPU + (Object.hasOwn(dimensions, 'cpu') ? task.Resources.CPU : 0),
      MemoryMB: sum.MemoryMB + (Object.hasOwn(dimensions, 'memory') ? task.Resources.MemoryMB : 0),
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
