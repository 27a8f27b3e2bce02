import {
  type Allocation,
  claimHoldersOf,
  type CSIVolume,
  type Evaluation,
  isClientTerminal,
  type Node,
  volumeResource,
} from '@waybill/model';
import type { Applied, Tables, Txn } from '@waybill/state';

/** An effect of an applied transaction on the evaluation queue or the blocked tracker. */
export type Signal =
  | { readonly kind: 'enqueue'; readonly evaluation: Evaluation }
  | { readonly kind: 'block'; readonly evaluation: Evaluation }
  | { readonly kind: 'untrack'; readonly namespace: string; readonly jobId: string }
  | { readonly kind: 'drop'; readonly evalId: string }
  | { readonly kind: 'unblockClass'; readonly computedClass: string }
  | { readonly kind: 'unblockNode'; readonly nodeId: string }
  | { readonly kind: 'unblockResources'; readonly names: readonly string[] };

/**
 * The signals of a transaction, in the order in which they must take effect: the "Signals" of the catalogue
 * (docs/reference/state-and-events.md section 3) and the routing of evaluations (EB-11, section 8.4). Refused transactions and
 * no-ops have none. Cost: O(rows that the transaction changed).
 */
export function signalsOf(applied: Applied, tables: Tables): Signal[] {
  if (applied.changes.length === 0) return [];
  return [...capacitySignals(applied, tables), ...dropSignals(applied), ...routeSignals(applied, tables)];
}

/** Routes every evaluation that the transaction carried and wrote (section 3.1 of the evaluations reference). */
function routeSignals({ txn, index }: Applied, tables: Tables): Signal[] {
  const signals: Signal[] = [];
  for (const { ID } of evalsCarriedBy(txn)) {
    const row = tables.evals.get(ID);
    if (row?.ModifyIndex === index) for (const item of routeOf(row)) signals.push(item);
  }
  return signals;
}

/** Where a stored evaluation belongs; a restore from state follows the same rules (EB-136). */
export function routeOf(evaluation: Evaluation): Signal[] {
  switch (evaluation.Status) {
    case 'pending':
      return [{ kind: 'enqueue', evaluation }];
    case 'blocked':
      return [{ kind: 'block', evaluation }];
    case 'complete':
      return Object.keys(evaluation.FailedTGAllocs).length === 0
        ? [{ kind: 'untrack', namespace: evaluation.Namespace, jobId: evaluation.JobID }]
        : [];
    case 'failed':
    case 'canceled':
      return [];
  }
}

/** The evaluations of a transaction of any type (EB-12). */
function evalsCarriedBy(txn: Txn): readonly Evaluation[] {
  switch (txn.type) {
    case 'EvalUpdate':
    case 'AllocClientUpdate':
    case 'AllocUpdateDesiredTransition':
      return txn.payload.Evals;
    case 'JobRegister':
    case 'JobDeregister':
    case 'DeploymentStatusUpdate':
    case 'DeploymentPromote':
    case 'DeploymentAllocHealth':
      return txn.payload.Eval ? [txn.payload.Eval] : [];
    case 'ApplyPlanResults':
      return [...txn.payload.PreemptionEvals, ...txn.payload.FollowupEvals];
    default:
      return [];
  }
}

/** Drops evaluations that ended or were deleted, because they may be delayed in the queue (EB-31, EB-45). */
function dropSignals({ changes }: Applied): Signal[] {
  const signals: Signal[] = [];
  for (const change of changes)
    if (change.table === 'evals' && (change.after === undefined || change.after.Status === 'canceled'))
      signals.push({ kind: 'drop', evalId: change.key });
  return signals;
}

/** Signals of transactions that may have freed capacity (section 8.4). */
function capacitySignals(applied: Applied, tables: Tables): Signal[] {
  const signals: Signal[] = [];
  for (const change of applied.changes) {
    if (change.table === 'nodes' && change.after && gainsCapacity(applied.txn, change.before, change.after))
      for (const item of unblock(change.after, applied.txn.type !== 'NodeRegister')) signals.push(item);
    if (change.table === 'csi_volumes' && change.after && mayBeUsable(applied.txn, change.before, change.after))
      signals.push({ kind: 'unblockResources', names: [volumeResource(change.after.Namespace, change.after.ID)] });
    if (change.table === 'allocs' && freesResources(applied.txn, change.before, change.after)) {
      const node = tables.nodes.get((change.after ?? change.before)?.NodeID ?? '');
      if (node) for (const item of unblock(node, true)) signals.push(item);
    }
  }
  return signals;
}

/** Whether the allocation's resources are free: its agent reported the end (EB-175), or a purge deleted it (ST-65). */
function freesResources(txn: Txn, before: Allocation | undefined, after: Allocation | undefined): boolean {
  if (!after) return before !== undefined && !isClientTerminal(before);
  const hasEnded = after.ClientStatus === 'complete' || after.ClientStatus === 'failed';
  return txn.type === 'AllocClientUpdate' && hasEnded && before?.ClientStatus !== after.ClientStatus;
}

function gainsCapacity(txn: Txn, before: Node | undefined, after: Node): boolean {
  switch (txn.type) {
    case 'NodeRegister':
    case 'NodeUpdateStatus':
      return after.Status === 'ready';
    case 'NodeUpdateDrain':
    case 'BatchNodeUpdateDrain':
    case 'NodeUpdateEligibility':
      return before?.SchedulingEligibility === 'ineligible' && after.SchedulingEligibility === 'eligible';
    default:
      return false;
  }
}

/** Whether the volume may have become usable: it was registered, or a claim on it ended (VL-25, VL-169). */
function mayBeUsable(txn: Txn, before: CSIVolume | undefined, after: CSIVolume): boolean {
  if (txn.type === 'CSIVolumeRegister') return true;
  return before !== undefined && claimHoldersOf(after).length < claimHoldersOf(before).length;
}

function unblock(node: Node, andNode: boolean): Signal[] {
  const byClass: Signal = { kind: 'unblockClass', computedClass: node.ComputedClass };
  return andNode ? [byClass, { kind: 'unblockNode', nodeId: node.ID }] : [byClass];
}
