import { allocsFit, isTerminalAllocation, type Allocation, type Node } from '@waybill/model';
import type { Applied, Tables } from '@waybill/state';
import { isRestore, type Invariant, type ReportViolation } from './invariant.js';

/**
 * No transaction puts more on a node than the node has (EB-328): whenever allocations begin to count on a node, all that
 * count there must fit together: CPU, memory, disk, cores, ports. Updates in place are not asked, as the plan applier
 * does not ask them. Nor is a node that offers less than before: what it runs stays. Nor, once the state was restored, is a
 * machine that runs what the archive says has ended (OP-47).
 * Cost: all allocations on the nodes that got some.
 */
export class NodeCapacity implements Invariant {
  private wasRestored = false;

  after(applied: Applied, tables: Tables, report: ReportViolation): void {
    if (isRestore(applied)) {
      this.wasRestored = true;
      return;
    }
    const { index, changes, txn } = applied;
    if (this.wasRestored && txn.type === 'AllocClientUpdate') return;
    const gained = new Set<string>();
    for (const change of changes)
      if (change.table === 'allocs' && counts(change.after) && !counts(change.before) && change.after)
        gained.add(change.after.NodeID);
    for (const nodeId of gained) {
      const node = tables.nodes.get(nodeId);
      if (!node) continue; // deregistered between verification and commit: what is placed there is lost
      const { fits, dimension, used } = allocsFit(node, liveOn(node, tables));
      if (fits) continue;
      report({
        invariant: 'node-capacity',
        index,
        subject: `node ${nodeId}`,
        message: `overcommitted in ${dimension}: ${used.cpuMhz} MHz, ${used.memoryMB} MB memory and ${used.diskMB} MB disk in use`,
      });
    }
  }
}

const counts = (alloc: Allocation | undefined): boolean => alloc !== undefined && !isTerminalAllocation(alloc);

function* liveOn(node: Node, tables: Tables): Generator<Allocation> {
  for (const alloc of tables.allocs.by('node', node.ID)) if (!isTerminalAllocation(alloc)) yield alloc;
}
