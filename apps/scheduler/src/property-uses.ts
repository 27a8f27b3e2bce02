import type { Allocation, Job } from '@waybill/model';
import { namespacedKey, type Tables } from '@waybill/state';
import { isLive } from './classification.js';
import { resolveTarget } from './constraint-targets.js';
import type { PlanDraft } from './plan-draft.js';

/**
 * How many allocations of a job use each value of a node property: those that exist, less what the plan stops, plus what
 * it places (SC-63, SC-130). Counted again when the plan has changed, so a pass with n placements costs
 * O(n × allocations of the job); only jobs with spreads or `distinct_property` ask.
 */
export class PropertyUses {
  private readonly known = new Map<
    string,
    { readonly version: number; readonly counts: ReadonlyMap<string, number> }
  >();

  constructor(
    private readonly job: Pick<Job, 'Namespace' | 'ID'>,
    private readonly tables: Tables,
    private readonly plan: PlanDraft,
  ) {}

  /** @param group undefined: of all groups */
  counts(attribute: string, group: string | undefined): ReadonlyMap<string, number> {
    const key = `${group ?? ''} ${attribute}`;
    const known = this.known.get(key);
    if (known?.version === this.plan.version) return known.counts;
    const counts = new Map<string, number>();
    const count = (alloc: Allocation): void => {
      if (group !== undefined && alloc.TaskGroup !== group) return;
      const node = this.tables.nodes.get(alloc.NodeID);
      const value = node && resolveTarget(attribute, node);
      if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1);
    };
    for (const alloc of this.tables.allocs.by('job', namespacedKey(this.job.Namespace, this.job.ID)))
      if (isLive(alloc) && !this.plan.isReplaced(alloc.ID)) count(alloc);
    for (const alloc of this.plan.placements()) if (isLive(alloc)) count(alloc);
    this.known.set(key, { version: this.plan.version, counts });
    return counts;
  }
}
