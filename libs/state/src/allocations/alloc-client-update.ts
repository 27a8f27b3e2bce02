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

type AllocReports = TxnPayloads['AllocClientUpdate'];

/** The verdict's result when nodes were left out. */
export interface RefusedNodes {
  /** Why, by node id (ST-105). */
  readonly RefusedNodes?: Readonly<Record<string, string>>;
  /** Nodes whose update was overtaken, with the index of what did (ND-223). */
  readonly OvertakenNodes?: Readonly<Record<string, number>>;
}

/** Type 9: what agents report of their allocations (ST-100 to ST-109). */
export function updateAllocsFromClients(w: Write, payload: TxnPayloads['AllocClientUpdate']): void {
  const { Allocs, Evals, After = {}, KnowsUpdatesOnly = false } = payload;
  const nodes = admitNodes(w, Allocs, After, (node) =>
    KnowsUpdatesOnly ? node.LastAllocUpdateIndex : lastOf(w, node),
  );
  if (nodes.size === 0 && Allocs.length > 0) return;
  const jobs: string[] = [];
  // Against the rows before this transaction, so that two updates of one allocation count as the last (ST-82).
  const counts = new AllocationCounts(w);
  for (const { first, last } of updateAllocs(w, payload, nodes)) {
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
 * An update of a node is overtaken by another one of it, by a restore of which it had not heard (OP-47), and when the node
 * was purged and registered anew: what it said before may still be on its way.
 */
const lastOf = ({ tables }: Write, { LastAllocUpdateIndex, CreateIndex }: Node): number =>
  Math.max(LastAllocUpdateIndex, CreateIndex, restoredIndexOf(tables));

/**
 * The nodes of the batch that may report. Names the others in the verdict: those that are not responsive, refused when
 * no node is left (ST-105), and those whose update was overtaken (ND-223).
 * @param lastOf index that an update of a node must come after
 */
function admitNodes(
  w: Write,
  updates: readonly ClientAllocUpdate[],
  after: Readonly<Record<string, number>>,
  lastOf: (node: Node) => number,
): ReadonlyMap<string, Node | undefined> {
  const admitted = new Map<string, Node | undefined>();
  let refused: Record<string, string> | undefined;
  let overtaken: Record<string, number> | undefined;
  for (const NodeID of distinct(updates.map((update) => update.NodeID))) {
    const node = w.tables.nodes.get(NodeID);
    const expected = after[NodeID];
    const last = node && expected !== undefined ? lastOf(node) : 0;
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

/** In their order. A batch of one, as most are, needs no set. */
function distinct(names: readonly string[]): Iterable<string> {
  return names.length < 2 ? names : new Set(names);
}

/** An allocation before a transaction, and after it. */
interface Updated {
  readonly first: Allocation;
  last: Allocation;
}

/** Writes the rows of the reports of admitted nodes; answers each allocation once, whatever number of reports it had. */
function updateAllocs(w: Write, payload: AllocReports, admitted: ReadonlyMap<string, unknown>): readonly Updated[] {
  const { Allocs: updates } = payload;
  const updated: Updated[] = [];
  const known = updates.length > 1 ? new Map<string, Updated>() : undefined;
  for (const update of updates) {
    const stored = w.tables.allocs.get(update.ID);
    if (!stored || !admitted.has(update.NodeID)) continue;
    if (stored.NodeID !== update.NodeID && !payload.TakesReportsOfOthers) continue; // whoever asked did not know it yet (ND-40)
    const last = updateAlloc(w, stored, update, payload);
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

function updateAlloc(w: Write, stored: Allocation, update: ClientAllocUpdate, payload: AllocReports): Allocation {
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
  countInDeployment(w, stored, next, { keepsEndedCanaries: payload.KeepsEndedCanaries });
  if (reconnects) cancelFollowup(w, stored, update.ModifyTime);
  w.put('allocs', next);
  if (reconnects && !payload.KeepsTimeouts) cancelTimeouts(w, next);
  dropServicesIfEnded(w, next);
  return next;
}

/** ST-102: only news counts, and no news takes nothing back. */
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

/** AllocStates entry that records a client status (ST-110). */
const CLIENT_STATUS_FIELD = 0;

function waitsForReconnect(alloc: Allocation): boolean {
  if (alloc.FollowupEvalID === '' || alloc.AllocStates.length === 0) return false;
  const last = alloc.AllocStates.findLast((entry) => entry.Field === CLIENT_STATUS_FIELD);
  return last?.Value === 'unknown';
}

/** ST-106: the evaluation that would have replaced it is not needed, unless another allocation waits for the same. */
function cancelFollowup(w: Write, reconnected: Allocation, atNs: number): void {
  const evaluation = w.tables.evals.get(reconnected.FollowupEvalID);
  if (!evaluation || isTerminalEvaluation(evaluation) || isAwaited(w, evaluation, reconnected)) return;
  cancel(w, evaluation, atNs);
}

/** Whether another allocation of the job names it. */
function isAwaited(w: Write, evaluation: Evaluation, reconnected: Allocation): boolean {
  for (const other of w.tables.allocs.by('followup', evaluation.ID)) {
    const isOfJob = other.JobID === reconnected.JobID && other.Namespace === reconnected.Namespace;
    if (other.ID !== reconnected.ID && isOfJob && !isTerminalAllocation(other)) return true;
  }
  return false;
}

/**
 * An allocation out of reach that is also to be rescheduled names the follow-up for that alone (SC-192), so the one for the
 * end of its `lost_after` is found by the job: nothing waits for it once nothing of the job is out of reach. It would keep
 * a batch job that is over from being dead until then. O(allocations and evaluations of the job).
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
