import { type Allocation, type Job, resolveTarget } from '@waybill/model';
import { namespacedKey, type Tables } from '@waybill/state';
import { isLive } from '../reconciliation/classification.js';
import type { CountChange, PlanDraft } from '../plan-draft.js';

interface Counted {
  readonly counts: Map<string, number>;
  /** Number of the plan's changes that `counts` includes. */
  seen: number;
}

/**
 * The number of a job's allocations for each value of a node property: the stored ones, without those that the plan
 * stops, and with those that it places (SC-63, SC-130). A value whose last use the plan stops stays, with 0 (SC-127).
 * Cost: O(allocations of the job) for the first query of a property, then O(changes of the plan since the previous
 * query).
 */
export class PropertyUses {
  /** By group (empty: all groups), then by property. */
  private readonly counted = new Map<string | undefined, Map<string, Counted>>();

  constructor(
    private readonly job: Pick<Job, 'Namespace' | 'ID'>,
    private readonly tables: Tables,
    private readonly plan: PlanDraft,
  ) {}

  /** The counts of a property: always the same map, kept up to date. @param group undefined: all groups */
  counts(attribute: string, group: string | undefined): ReadonlyMap<string, number> {
    let ofGroup = this.counted.get(group);
    if (!ofGroup) this.counted.set(group, (ofGroup = new Map()));
    let counted = ofGroup.get(attribute);
    if (!counted) {
      counted = { counts: new Map(), seen: 0 };
      for (const alloc of this.tables.allocs.by('job', namespacedKey(this.job.Namespace, this.job.ID)))
        if (isLive(alloc)) this.add(counted.counts, alloc, 1, attribute, group);
      ofGroup.set(attribute, counted);
    }
    const { countChanges } = this.plan;
    for (; counted.seen < countChanges.length; counted.seen++) {
      const { alloc, by } = countChanges[counted.seen] as CountChange;
      this.add(counted.counts, alloc, by, attribute, group);
    }
    return counted.counts;
  }

  /** Counts an allocation. Positional parameters: runs for every live allocation of the job, and every change of a plan. */
  private add(
    counts: Map<string, number>,
    alloc: Allocation,
    by: 1 | -1,
    attribute: string,
    group: string | undefined,
  ): void {
    if (group !== undefined && alloc.TaskGroup !== group) return;
    const node = this.tables.nodes.get(alloc.NodeID);
    const value = node && resolveTarget(attribute, node);
    if (value !== undefined) counts.set(value, Math.max(0, (counts.get(value) ?? 0) + by));
  }
}
