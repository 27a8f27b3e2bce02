import { charge, emptyLoad, isTerminalAllocation, type Allocation, type NodeLoad } from '@waybill/model';
import type { Change, Tables } from '@waybill/state';

/**
 * What the stored allocations that have not ended take from each node, without walking them for every plan: the first
 * question about a node walks, and from then on the changes of the log keep the answer.
 *
 * Must be told of every change that is applied, before anybody asks again; a copy of the state tells its listeners in
 * the same turn as it applies, so nobody can ask in between.
 * Memory: one small record per node that plans were judged for in this term. Cost of a change: O(tasks of the allocation).
 */
export class NodeLoads {
  private readonly loads = new Map<string, NodeLoad>();

  constructor(private readonly tables: Tables) {}

  of(nodeId: string): Readonly<NodeLoad> {
    const known = this.loads.get(nodeId);
    if (known) return known;
    const load = emptyLoad();
    for (const alloc of this.tables.allocs.by('node', nodeId)) if (!isTerminalAllocation(alloc)) charge(load, alloc);
    this.loads.set(nodeId, load);
    return load;
  }

  changed(change: Change): void {
    if (change.table === 'nodes' && !change.after) this.loads.delete(change.key);
    if (change.table !== 'allocs') return;
    const { before, after } = change;
    if (before && after && takeTheSame(before, after)) return;
    this.count(before, -1);
    this.count(after, 1);
  }

  clear(): void {
    this.loads.clear();
  }

  private count(alloc: Allocation | undefined, sign: 1 | -1): void {
    const load = alloc && !isTerminalAllocation(alloc) ? this.loads.get(alloc.NodeID) : undefined;
    if (alloc && load) charge(load, alloc, sign);
  }
}

/** Nearly every report of an agent: another state of the same tasks. */
function takeTheSame(before: Allocation, after: Allocation): boolean {
  return (
    before.AllocatedResources === after.AllocatedResources &&
    before.NodeID === after.NodeID &&
    isTerminalAllocation(before) === isTerminalAllocation(after)
  );
}
