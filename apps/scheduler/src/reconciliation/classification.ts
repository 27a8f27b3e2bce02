import {
  findTaskGroup,
  isClientTerminal,
  isServerTerminal,
  isTerminalAllocation,
  nsFromRfc3339,
  rfc3339FromNs,
  type AllocClientStatus,
  type Allocation,
  type AllocStateEntry,
  type DisconnectStrategy,
  type Job,
  type Node,
} from '@waybill/model';
import type { Tables } from '@waybill/state';
import { LOST, UNKNOWN } from '../descriptions.js';
import type { StopOrder } from '../plan-draft.js';

/** Nodes whose allocations are not reliable, by ID; null: the node was deleted (SC-154). */
export type TaintedNodes = ReadonlyMap<string, Node | null>;

/** The reconciler's class of an allocation, which decides the next step (SC-158). */
export type Bucket = 'untainted' | 'ignore' | 'migrate' | 'lost' | 'expiring' | 'reconnecting' | 'disconnecting';

/** The tainted nodes of these allocations. O(allocations of the job). */
export function taintedNodesOf(allocs: Iterable<Allocation>, tables: Tables): TaintedNodes {
  const tainted = new Map<string, Node | null>();
  for (const { NodeID } of allocs) {
    if (tainted.has(NodeID)) continue;
    const node = tables.nodes.get(NodeID) ?? null;
    if (!node || node.Status === 'down' || node.Status === 'disconnected' || node.DrainStrategy !== null)
      tainted.set(NodeID, node);
  }
  return tainted;
}

/** Whether the allocation is of a former version, or of a former job of the same name (SC-8). */
export function isFromOlderJob(alloc: Allocation, job: Job): boolean {
  return alloc.Job !== null && (alloc.Job.Version < job.Version || alloc.Job.CreateIndex < job.CreateIndex);
}

/** Whether the last client status that a scheduler noted is `unknown` (SC-2). */
export function needsReconnect(alloc: Allocation): boolean {
  return alloc.AllocStates.findLast((entry) => entry.Field === 0 && entry.Value !== '')?.Value === 'unknown';
}

/** Whether the time for which the allocation may be disconnected is over (SC-4, SC-5). */
export function isExpired(alloc: Allocation, nowNs: number): boolean {
  if (alloc.ClientStatus !== 'unknown' || !alloc.Job) return false;
  const group = findTaskGroup(alloc.Job, alloc.TaskGroup);
  const unknownSince = lastUnknownTime(alloc);
  if (!group || unknownSince === 0) return false;
  return unknownSince + lostAfterOf(alloc) <= nowNs;
}

/** When the allocation last became unknown, unix ns; 0: never (SC-4). */
export function lastUnknownTime(alloc: Pick<Allocation, 'AllocStates'>): number {
  let since = 0;
  for (const entry of alloc.AllocStates.toReversed()) {
    if (entry.Field !== 0) continue;
    if (entry.Value === 'unknown') since = nsFromRfc3339(entry.Time);
    else if (since !== 0) break;
  }
  return since;
}

/**
 * The bucket of an allocation: the first match in the table of SC-158. An allocation that the server stopped never
 * reconnects, whatever its history (SC-310).
 */
export function bucketOf(alloc: Allocation, tainted: TaintedNodes, nowNs: number): Bucket {
  // Rows C2, C3 and C7.
  if (isServerTerminal(alloc)) return alloc.DesiredTransition.MigrateDisablePlacement === true ? 'untainted' : 'ignore';
  const reconnects = mayReconnect(alloc) && needsReconnect(alloc);
  if (reconnects && alloc.ClientStatus === 'failed') return 'reconnecting'; // row C1
  const migrates = alloc.DesiredTransition.Migrate === true;
  if (isClientTerminal(alloc)) return migrates && isCanary(alloc) ? 'migrate' : 'untainted'; // rows C4 and C5
  if (isExpired(alloc, nowNs)) return 'expiring'; // row C6
  const node = tainted.get(alloc.NodeID);
  if (node?.Status === 'disconnected') return bucketOnDisconnectedNode(alloc); // rows C8 to C11
  if (migrates) return 'migrate'; // row C12
  // Rows C13 and C14.
  if (node === undefined || node?.Status === 'ready') return reconnects ? 'reconnecting' : 'untainted';
  if (node === null) return 'lost'; // row C15
  return node.Status === 'down' ? bucketOnDownNode(alloc) : 'untainted'; // rows C16 to C19
}

function mayReconnect({ ClientStatus }: Allocation): boolean {
  return ClientStatus === 'unknown' || ClientStatus === 'running' || ClientStatus === 'failed';
}

export const isCanary = (alloc: Pick<Allocation, 'DeploymentStatus'>): boolean =>
  alloc.DeploymentStatus?.Canary === true;

function bucketOnDisconnectedNode(alloc: Allocation): Bucket {
  if (alloc.ClientStatus === 'unknown') return 'untainted';
  return alloc.ClientStatus === 'pending' || lostAfterOf(alloc) === 0 ? 'lost' : 'disconnecting';
}

function bucketOnDownNode(alloc: Allocation): Bucket {
  if (disconnectOf(alloc)?.Replace !== false) return 'lost';
  if (alloc.ClientStatus === 'unknown') return 'untainted';
  return alloc.ClientStatus === 'running' ? 'disconnecting' : 'lost';
}

/** The `disconnect` block that the allocation was placed with, if any. */
export function disconnectOf(alloc: Allocation): DisconnectStrategy | null {
  const group = alloc.Job && findTaskGroup(alloc.Job, alloc.TaskGroup);
  return group?.Disconnect ?? null;
}

/** For how long the allocation may be disconnected, ns; 0: not at all. */
export const lostAfterOf = (alloc: Allocation): number => disconnectOf(alloc)?.LostAfter ?? 0;

/** Whether a plan may rewrite the allocation in place, keeping its client status (SC-313). */
export function mayRewrite(alloc: Allocation, tainted: TaintedNodes): boolean {
  const node = tainted.get(alloc.NodeID);
  if (node === undefined) return true;
  if (node === null) return false;
  if (node.Status === 'disconnected') return alloc.ClientStatus === 'unknown';
  if (node.Status === 'down') return alloc.ClientStatus === 'unknown' && disconnectOf(alloc)?.Replace === false;
  return node.Status === 'ready';
}

/**
 * The stops for allocations that were told to stop on a node that is down or deleted, where no agent will report the
 * end (SC-155).
 */
export function stopsNobodyReports(allocs: Iterable<Allocation>, tainted: TaintedNodes, nowNs: number): StopOrder[] {
  const orders: StopOrder[] = [];
  for (const alloc of allocs) {
    const node = tainted.get(alloc.NodeID);
    const gone = node === null || node?.Status === 'down';
    const unfinished = alloc.ClientStatus === 'running' || alloc.ClientStatus === 'pending';
    if (gone && isServerTerminal(alloc) && unfinished) orders.push(lostStop(alloc, nowNs));
  }
  return orders;
}

/** The stop of a lost allocation (SC-198). */
export function lostStop(alloc: Allocation, nowNs: number, followupEvalId = ''): StopOrder {
  return {
    alloc,
    description: LOST,
    clientStatus: 'lost',
    followupEvalId,
    appendStates: [clientState('lost', nowNs)],
  };
}

/** The allocation as unknown (SC-190). It keeps its job version (EB-340). */
export function asUnknown(alloc: Allocation, nowNs: number, followupEvalId = ''): Allocation {
  return {
    ...alloc,
    Job: null,
    ClientStatus: 'unknown',
    ClientDescription: UNKNOWN,
    AllocStates: [...alloc.AllocStates, clientState('unknown', nowNs)],
    FollowupEvalID: followupEvalId,
  };
}

/** The allocation as reconnected: from then on an ordinary allocation again (SC-184). */
export function asReconnected(alloc: Allocation, nowNs: number): Allocation {
  return { ...alloc, Job: null, AllocStates: [...alloc.AllocStates, clientState('running', nowNs)] };
}

/** An entry of the history of client statuses that the servers keep. */
export const clientState = (status: AllocClientStatus, nowNs: number): AllocStateEntry => ({
  Field: 0,
  Value: status,
  Time: rfc3339FromNs(nowNs),
});

/** Whether the allocation still counts for its job. */
export const isLive = (alloc: Allocation): boolean => !isTerminalAllocation(alloc);
