import { allocsFit, isTerminalAllocation, type Allocation, type Node } from '@waybill/model';
import type { Applied, Tables } from '@waybill/state';
import { isRestore, type Invariant, type ReportViolation } from './invariant.js';

/**
 * No transaction puts more on a node than the node has (EB-328): whenever allocations begin to count on a node, all that
 * count there must fit together: CPU, memory, disk, cores, ports. Updates in place are not asked, as the plan applier
 * does not ask them. Nor is a node that offers less than before: what it runs stays. What had ended and runs again by its
 * machine's word is left out, for whoever placed beside it could not know: an archive said so (OP-47), or the machine
 * itself, which is believed in both (ND-110).
 * Cost: all allocations on the nodes that got some. Memory: those that were left out.
 */
export class NodeCapacity implements Invariant {
  /** Allocations that run although they had ended. */
  private readonly unforeseen = new Set<string>();

  after(applied: Applied, tables: Tables, report: ReportViolation): void {
    if (isRestore(applied)) return;
    const { index, changes, txn } = applied;
    const isReport = txn.type === 'AllocClientUpdate';
    const gained = new Set<string>();
    for (const change of changes) {
      if (change.table !== 'allocs') continue;
      if (!counts(change.after)) this.unforeseen.delete(change.key);
      else if (!counts(change.before) && change.after) {
        if (isReport) this.unforeseen.add(change.key);
        else gained.add(change.after.NodeID);
      }
    }
    for (const nodeId of gained) {
      const node = tables.nodes.get(nodeId);
      if (!node) continue; // deregistered between verification and commit: what is placed there is lost
      const { fits, dimension, used } = allocsFit(node, this.foreseenOn(node, tables));
      if (fits) continue;
      report({
        invariant: 'node-capacity',
        index,
        subject: `node ${nodeId}`,
        message: `overcommitted in ${dimension}: ${used.cpuMhz} MHz, ${used.memoryMB} MB memory and ${used.diskMB} MB disk in use`,
      });
    }
  }

  private *foreseenOn(node: Node, tables: Tables): Generator<Allocation> {
    for (const alloc of tables.allocs.by('node', node.ID))
      if (!isTerminalAllocation(alloc) && !this.unforeseen.has(alloc.ID)) yield alloc;
  }
}

const counts = (alloc: Allocation | undefined): boolean => alloc !== undefined && !isTerminalAllocation(alloc);
