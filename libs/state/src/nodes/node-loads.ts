import { charge, emptyLoad, isTerminalAllocation, type Allocation, type NodeLoad } from '@waybill/model';
import type { Applied } from '../machine/state-machine.js';
import type { Tables } from '../machine/tables.js';
import type { Change } from '../machine/write.js';

/**
 * Caches the resources that counted allocations use on each node, so that neither plans nor scores iterate over them.
 * The first query of a node iterates over its allocations; later changes of the log keep the cached sum up to date.
 *
 * It must get every applied change before the next query; a copy of the state calls its listeners in the same turn in
 * which it applies, so that no query can come in between. Memory: one small record for each queried node. Cost of a
 * change: O(tasks of the allocation).
 */
export class NodeLoads {
  private readonly loads = new Map<string, NodeLoad>();

  /** @param counts by default allocations that have not ended and were not told to stop (EB-248) */
  constructor(
    private readonly tables: Tables,
    private readonly counts: (alloc: Allocation) => boolean = (alloc) => !isTerminalAllocation(alloc),
  ) {}

  of(nodeId: string): Readonly<NodeLoad> {
    const known = this.loads.get(nodeId);
    if (known) return known;
    const load = emptyLoad();
    for (const alloc of this.tables.allocs.by('node', nodeId)) if (this.counts(alloc)) charge(load, alloc);
    this.loads.set(nodeId, load);
    return load;
  }

  /** A listener for a copy of the state. */
  readonly applied = ({ changes }: Applied): void => {
    for (const change of changes) this.followChange(change);
  };

  private followChange(change: Change): void {
    if (change.table === 'nodes' && !change.after) this.loads.delete(change.key);
    if (change.table !== 'allocs') return;
    const { before, after } = change;
    if (before && after && this.keepsLoad(before, after)) return;
    this.chargeLoad(before, -1);
    this.chargeLoad(after, 1);
  }

  clear(): void {
    this.loads.clear();
  }

  private chargeLoad(alloc: Allocation | undefined, sign: 1 | -1): void {
    const load = alloc && this.counts(alloc) ? this.loads.get(alloc.NodeID) : undefined;
    if (alloc && load) charge(load, alloc, sign);
  }

  /** Handles the common report of an agent: another state of the same tasks. */
  private keepsLoad(before: Allocation, after: Allocation): boolean {
    return (
      before.AllocatedResources === after.AllocatedResources &&
      before.NodeID === after.NodeID &&
      this.counts(before) === this.counts(after)
    );
  }
}
