import { isClientTerminal, type Job } from '@waybill/model';
import { namespacedKey, type Tables } from '@waybill/state';
import type { CountChange, PlanDraft } from '../plan-draft.js';

/**
 * Number of a job's allocations on each node, as the plan stands (SC-109). One for each attempt. Cost: O(allocations of
 * the job) for the first query, then O(changes of the plan since the previous query).
 */
export class JobOnNodes {
  /** Counts by node, then by group. */
  private counted: Map<string, Map<string, number>> | undefined;
  private seen = 0;

  constructor(
    private readonly job: Pick<Job, 'Namespace' | 'ID'>,
    private readonly tables: Tables,
    private readonly plan: PlanDraft,
  ) {}

  count(nodeId: string, group: string): number {
    this.counted ??= this.stored();
    const { countChanges } = this.plan;
    for (; this.seen < countChanges.length; this.seen++) {
      const { alloc, by } = countChanges[this.seen] as CountChange;
      add(this.counted, alloc.NodeID, alloc.TaskGroup, by);
    }
    return this.counted.get(nodeId)?.get(group) ?? 0;
  }

  private stored(): Map<string, Map<string, number>> {
    const counted = new Map<string, Map<string, number>>();
    for (const alloc of this.tables.allocs.by('job', namespacedKey(this.job.Namespace, this.job.ID)))
      if (!isClientTerminal(alloc)) add(counted, alloc.NodeID, alloc.TaskGroup, 1);
    return counted;
  }
}

function add(counted: Map<string, Map<string, number>>, nodeId: string, group: string, by: number): void {
  let ofNode = counted.get(nodeId);
  if (!ofNode) counted.set(nodeId, (ofNode = new Map()));
  ofNode.set(group, (ofNode.get(group) ?? 0) + by);
}
