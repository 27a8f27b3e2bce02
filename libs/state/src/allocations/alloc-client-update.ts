import {
  isTerminalAllocation,
  isTerminalEvaluation,
  type AllocClientStatus,
  type AllocDeploymentStatus,
  type Allocation,
  type ClientAllocUpdate,
  type Evaluation,
  type Node,
  Refusal,
} from '@waybill/model';
import { dropServicesIfEnded } from './alloc-services.js';
import type { TxnPayloads } from '../log/catalogue.js';
import { countInDeployment } from '../deployments/deployment-counters.js';
import { upsertEvaluation } from '../evaluations/eval-upsert.js';
import { withAllocUpdateIndex, withReport } from '../machine/hot-rows.js';
import { recomputeJobStatus } from '../jobs/job-status.js';
import { AllocationCounts } from '../jobs/job-summary.js';
import { isUnresponsive } from '../nodes/node-status.js';
import { namespacedKey, restoredIndexOf } from '../machine/tables.js';
import type { Write } from '../machine/write.js';

/** The verdict's result if nodes were left out. */
export interface RefusedNodes {
  /** The reason, by node ID (ST-105). */
  readonly RefusedNodes?: Readonly<Record<string, string>>;
  /** Nodes whose update was superseded, with the index of what superseded it (ND-223). */
  readonly OvertakenNodes?: Readonly<Record<string, number>>;
}

/** Type 9: agents' reports on their allocations (ST-100 to ST-109). */
export function updateAllocsFromClients(w: Write, payload: TxnPayloads['AllocClientUpdate']): void {
  const { Allocs, Evals, After = {} } = payload;
  const nodes = admitNodes(w, Allocs, After);
  if (nodes.size === 0 && Allocs.length > 0) return;
  const jobs: string[] = [];
  // Counts changes against the rows before this transaction, so two updates of one allocation count once (ST-82).
  const counts = new AllocationCounts(w);
  for (const { first, last } of updateAllocs(w, Allocs, nodes)) {
    counts.count(first, last);
    jobs.push(counts.jobOf(first));
  }
  counts.put();
  for (const evaluation of Evals) {
    upsertEvaluation(w, evaluation);
    jobs.push(namespacedKey(evaluation.Namespace, evaluation.JobID));
  }
  for (const job of distinct(jobs)) recomputeJobStatus(w, job);
  for (const node of nodes.values()) if (node) w.put('nodes', withAllocUpdateIndex(node, w.index));
}

/**
 * Index that a node's update must follow. Its update is superseded by another update of the node, by a restore of which
 * the agent did not know (OP-47), and by a purge and new registration of the node, as earlier reports may still be on
 * their way.
 */
const lastOf = ({ tables }: Write, { LastAllocUpdateIndex, CreateIndex }: Node): number =>
  Math.max(LastAllocUpdateIndex, CreateIndex, restoredIndexOf(tables));

/**
 * The nodes of the batch that may report. The verdict names the others: unresponsive ones, which are refused if no node
 * is left (ST-105), and those whose update was superseded (ND-223).
 */
function admitNodes(
  w: Write,
  updates: readonly ClientAllocUpdate[],
  after: Readonly<Record<string, number>>,
): ReadonlyMap<string, Node | undefined> {
  const admitted = new Map<string, Node | undefined>();
  let refused: Record<string, string> | undefined;
  let overtaken: Record<string, number> | undefined;
  for (const NodeID of distinct(updates.map((update) => update.NodeID))) {
    const node = w.tables.nodes.get(NodeID);
    const expected = after[NodeID];
    const last = node && expected !== undefined ? lastOf(w, node) : 0;
    if (node && isUnresponsive(node.Status)) {
      refused ??= {};
      refused[NodeID] = `node ${NodeID} is not allowed to update allocs while in status ${node.Status}`;
    } else if (node && expected !== undefined && expected !== last) {
      overtaken ??= {};
      overtaken[NodeID] = last;
    } else admitted.set(NodeID, node);
  }
  if (refused) {
    const text = Object.values(refused).join('; ');
    if (admitted.size === 0 && !overtaken) throw new Refusal('conflict', text);
    w.notice = text;
  }
  if (refused || overtaken)
    w.result = {
      ...(refused && { RefusedNodes: refused }),
      ...(overtaken && { OvertakenNodes: overtaken }),
    } satisfies RefusedNodes;
  return admitted;
}

/** The distinct names, in their order. A batch of one, as most are, needs no set. */
function distinct(names: readonly string[]): Iterable<string> {
  return names.length < 2 ? names : new Set(names);
}

/** An allocation before a transaction, and after it. */
interface Updated {
  readonly first: Allocation;
  last: Allocation;
}

/** Writes the reports of admitted nodes. Returns each allocation once, however many reports it had. */
function updateAllocs(
  w: Write,
  updates: readonly ClientAllocUpdate[],
  admitted: ReadonlyMap<string, unknown>,
): readonly Updated[] {
  const updated: Updated[] = [];
  const known = updates.length > 1 ? new Map<string, Updated>() : undefined;
  for (const update of updates) {
    const stored = w.tables.allocs.get(update.ID);
    if (!stored || !admitted.has(update.NodeID)) continue;
    // The sender did not know the allocation yet (ND-40).
    if (stored.NodeID !== update.NodeID) continue;
    const last = updateAlloc(w, stored, update);
    const before = known?.get(stored.ID);
    if (before) {
      before.last = last;
      continue;
    }
    const one = { first: stored, last };
    updated.push(one);
    known?.set(stored.ID, one);
  }
  return updated;
}

function updateAlloc(w: Write, stored: Allocation, update: ClientAllocUpdate): Allocation {
  const reconnects = waitsForReconnect(stored) && REPORTS_LIFE.has(update.ClientStatus);
  const next = withReport(stored, {
    ClientStatus: update.ClientStatus,
    ClientDescription: update.ClientDescription,
    TaskStates: update.TaskStates,
    NetworkStatus: update.NetworkStatus,
    DeploymentStatus: withHealth(w, stored.DeploymentStatus, update.DeploymentStatus),
    FollowupEvalID: reconnects ? '' : stored.FollowupEvalID,
    ModifyIndex: w.index,
    ModifyTime: update.ModifyTime,
  });
  countInDeployment(w, stored, next);
  if (reconnects) cancelFollowup(w, stored, update.ModifyTime);
  w.put('allocs', next);
  if (reconnects) cancelTimeouts(w, next);
  dropServicesIfEnded(w, next);
  return next;
}

/** The allocation with the reported health: only a decision counts, and no report withdraws one (ST-102). */
function withHealth(
  w: Write,
  stored: AllocDeploymentStatus | null,
  reported: ClientAllocUpdate['DeploymentStatus'],
): AllocDeploymentStatus | null {
  if (reported === null || reported.Healthy === null || stored?.Healthy === reported.Healthy) return stored;
  return {
    Healthy: reported.Healthy,
    Timestamp: reported.Timestamp,
    Canary: stored?.Canary ?? false,
    ModifyIndex: w.index,
  };
}

const REPORTS_LIFE: ReadonlySet<AllocClientStatus> = new Set(['running', 'complete', 'failed']);

/** Field of an AllocStates entry that records a client status (ST-110). */
const CLIENT_STATUS_FIELD = 0;

function waitsForReconnect(alloc: Allocation): boolean {
  if (alloc.FollowupEvalID === '' || alloc.AllocStates.length === 0) return false;
  const last = alloc.AllocStates.findLast((entry) => entry.Field === CLIENT_STATUS_FIELD);
  return last?.Value === 'unknown';
}

/** Cancels the evaluation that would have replaced the allocation, unless another allocation waits for it (ST-106). */
function cancelFollowup(w: Write, reconnected: Allocation, atNs: number): void {
  const evaluation = w.tables.evals.get(reconnected.FollowupEvalID);
  if (!evaluation || isTerminalEvaluation(evaluation) || isAwaited(w, evaluation, reconnected)) return;
  cancel(w, evaluation, atNs);
}

/** Whether another allocation of the job names the evaluation. */
function isAwaited(w: Write, evaluation: Evaluation, reconnected: Allocation): boolean {
  for (const other of w.tables.allocs.by('followup', evaluation.ID)) {
    const isOfJob = other.JobID === reconnected.JobID && other.Namespace === reconnected.Namespace;
    if (other.ID !== reconnected.ID && isOfJob && !isTerminalAllocation(other)) return true;
  }
  return false;
}

/**
 * Cancels the evaluations for the end of `lost_after` when no allocation of the job is disconnected any more. A
 * disconnected allocation that is also to be rescheduled names only the evaluation for that (SC-192), so these are
 * found by the job. Otherwise they would keep a finished batch job from being dead until then. O(allocations and
 * evaluations of the job).
 */
function cancelTimeouts(w: Write, reconnected: Allocation): void {
  const job = namespacedKey(reconnected.Namespace, reconnected.JobID);
  for (const alloc of w.tables.allocs.by('job', job))
    if (alloc.ClientStatus === 'unknown' && !isTerminalAllocation(alloc)) return;
  const needless = [...w.tables.evals.by('job', job)].filter(
    (one) =>
      one.TriggeredBy === 'max-disconnect-timeout' && one.Status === 'pending' && !isAwaited(w, one, reconnected),
  );
  for (const evaluation of needless) cancel(w, evaluation, reconnected.ModifyTime);
}

function cancel(w: Write, evaluation: Evaluation, atNs: number): void {
  w.put('evals', {
    ...evaluation,
    Status: 'canceled',
    StatusDescription: 'allocs reconnected',
    ModifyIndex: w.index,
    ModifyTime: atNs,
  });
}
