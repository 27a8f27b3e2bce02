import { type CancelTimer, type Clock, isTerminalAllocation, type Node, type Timers } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import type { Applied, Change } from '@waybill/state';
import type { Logger } from '@waybill/telemetry';
import type { EvaluatedNode, NodeEvaluations } from '../node/node-evaluations.js';
import { registrationNeedsEvaluations, statusNeedsEvaluations } from '../node/node-status.js';

/** How long the writer of a node's transaction has to write its evaluations as well (ND-73). */
export const EVALUATIONS_DUE_MS = 5_000;
/** A new holder checks nodes that were written within this time before its term (ND-73). */
export const LOOK_BACK_SECONDS = 300;

type NodeChange = Extract<Change, { table: 'nodes' }>;

export interface MissingNodeEvaluationsDeps {
  readonly state: ReplicatedState;
  readonly evaluations: NodeEvaluations;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
}

/**
 * Writes the evaluations of node transactions whose writer crashed before it wrote them (ND-73).
 *
 * Modes: off → on (the lease is held) → off. While on, it remembers every node transaction that requires evaluations
 * until these are in the log. If they are missing after EVALUATIONS_DUE_MS, it writes them with the same request ID, so
 * that a second copy is skipped everywhere. A failed attempt is repeated after the same time. Cost: one timer for each
 * such transaction; at the start one pass over nodes, allocations and evaluations, because only their rows say what is
 * missing.
 */
export class MissingNodeEvaluations {
  private readonly due = new Map<string, { index: number; cancel: CancelTimer }>();
  private on = false;
  private made = 0;

  constructor(private readonly deps: MissingNodeEvaluationsDeps) {}

  start(): void {
    this.on = true;
    for (const node of this.nodesWithout()) this.remember(node, node.ModifyIndex, 0);
    for (const ID of this.goneNodesWithWork()) this.remember({ ID }, this.deps.state.tables.nodes.tableIndex, 0);
  }

  applied(applied: Applied): void {
    if (!this.on) return;
    for (const change of applied.changes) {
      if (change.table === 'nodes') this.nodeChanged(change, applied);
      else if (change.table === 'evals' && change.after?.TriggeredBy === 'node-update')
        this.forget(change.after.NodeID, change.after.NodeModifyIndex);
    }
  }

  stop(): void {
    this.on = false;
    for (const { cancel } of this.due.values()) cancel();
    this.due.clear();
  }

  stats(): Record<string, number> {
    return { awaitingEvaluations: this.due.size, missingEvaluationsMade: this.made };
  }

  private nodeChanged(change: NodeChange, applied: Applied): void {
    const node = change.after ?? change.before;
    if (!node || !changeNeedsEvaluations(change, applied)) return;
    // Garbage collection leaves the evaluations to us (GC-59), so there is no writer to wait for.
    const delayMs = applied.txn.type === 'NodeBatchDeregister' ? 0 : EVALUATIONS_DUE_MS;
    this.remember(node, applied.index, delayMs);
  }

  private remember(node: EvaluatedNode, index: number, delayMs: number): void {
    this.due.get(node.ID)?.cancel();
    const cancel = this.deps.timers.after(delayMs, () => void this.make(node, index));
    this.due.set(node.ID, { index, cancel });
  }

  private forget(nodeId: string, index: number): void {
    const due = this.due.get(nodeId);
    if (!due || due.index > index) return;
    due.cancel();
    this.due.delete(nodeId);
  }

  private async make(node: EvaluatedNode, index: number): Promise<void> {
    try {
      const made = await this.deps.evaluations.create(this.deps.state.tables.nodes.get(node.ID) ?? node, index);
      this.made += made.EvalIDs.length;
      this.forget(node.ID, index);
    } catch (error) {
      this.deps.logger.warn('evaluations of a node could not be written; trying again', { node: node.ID, error });
      const due = this.due.get(node.ID);
      if (this.on && !(due && due.index > index)) this.remember(node, index, EVALUATIONS_DUE_MS);
    }
  }

  /** Nodes that were written in the last minutes and lack evaluations. */
  private nodesWithout(): Node[] {
    const { tables } = this.deps.state;
    const evaluatedAt = new Map<string, number>();
    for (const e of tables.evals.all())
      if (e.TriggeredBy === 'node-update')
        evaluatedAt.set(e.NodeID, Math.max(evaluatedAt.get(e.NodeID) ?? 0, e.NodeModifyIndex));
    const since = Math.floor(this.deps.clock.nowMs() / 1_000) - LOOK_BACK_SECONDS;
    const found: Node[] = [];
    for (const node of tables.nodes.all())
      if (node.StatusUpdatedAt >= since && (evaluatedAt.get(node.ID) ?? 0) < node.ModifyIndex) found.push(node);
    return found;
  }

  /** Deleted nodes that unfinished allocations name: the evaluations of their deletion may be missing. */
  private goneNodesWithWork(): Set<string> {
    const { tables } = this.deps.state;
    const gone = new Set<string>();
    for (const alloc of tables.allocs.all())
      if (alloc.NodeID !== '' && !isTerminalAllocation(alloc) && !tables.nodes.has(alloc.NodeID))
        gone.add(alloc.NodeID);
    return gone;
  }
}

/** Whether the change of a node requires evaluations (ND-37, ND-70, ND-93, ND-142). */
export function changeNeedsEvaluations(change: NodeChange, applied: Applied): boolean {
  const { before, after } = change;
  if (!after) return true;
  if (!before) return registrationNeedsEvaluations(undefined, after);
  if (applied.txn.type === 'NodeRegister') return registrationNeedsEvaluations(before, after);
  if (before.SchedulingEligibility === 'ineligible' && after.SchedulingEligibility === 'eligible') return true;
  return applied.txn.type === 'NodeUpdateStatus' && statusNeedsEvaluations(before.Status, after.Status);
}
