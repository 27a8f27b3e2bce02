import {
  findTaskGroup,
  isClientTerminal,
  isServerTerminal,
  isTerminalAllocation,
  nsFromRfc3339,
  rfc3339FromNs,
  type Allocation,
  type Job,
  type Node,
} from '@waybill/model';
import type { Tables } from '@waybill/state';
import { LOST } from './descriptions.js';
import type { StopOrder } from './plan-draft.js';

/** Nodes on which an allocation cannot be counted on, by id; null: the node is gone (SC-154). */
export type TaintedNodes = ReadonlyMap<string, Node | null>;

/** What the reconciler does next with an allocation (SC-158). */
export type Bucket = 'untainted' | 'ignore' | 'migrate' | 'lost';

/** O(allocations of the job). */
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

/** SC-8: of a former version, or of a former job of the same name. */
export function isFromOlderJob(alloc: Allocation, job: Job): boolean {
  return alloc.Job !== null && (alloc.Job.Version < job.Version || alloc.Job.CreateIndex < job.CreateIndex);
}

/** SC-2: the last client status that a scheduler noted is `unknown`. */
export function needsReconnect(alloc: Allocation): boolean {
  return alloc.AllocStates.findLast((entry) => entry.Field === 0 && entry.Value !== '')?.Value === 'unknown';
}

/** SC-4, SC-5. */
export function isExpired(alloc: Allocation, nowNs: number): boolean {
  if (alloc.ClientStatus !== 'unknown' || !alloc.Job) return false;
  const group = findTaskGroup(alloc.Job, alloc.TaskGroup);
  const unknownSince = lastUnknownTime(alloc);
  if (!group || unknownSince === 0) return false;
  return unknownSince + (group.Disconnect?.LostAfter ?? 0) <= nowNs;
}

function lastUnknownTime(alloc: Allocation): number {
  let since = 0;
  for (const entry of alloc.AllocStates.toReversed()) {
    if (entry.Field !== 0) continue;
    if (entry.Value === 'unknown') since = nsFromRfc3339(entry.Time);
    else if (since !== 0) break;
  }
  return since;
}

/**
 * The table of SC-158, first match. Disconnected clients with `lost_after` are left as they are for now: their
 * allocations stay untainted instead of becoming unknown, and returning ones are taken as they come.
 */
export function bucketOf(alloc: Allocation, tainted: TaintedNodes, nowNs: number): Bucket {
  const reconnects =
    (alloc.ClientStatus === 'unknown' || alloc.ClientStatus === 'running' || alloc.ClientStatus === 'failed') &&
    needsReconnect(alloc);
  if (isServerTerminal(alloc) && !reconnects)
    return alloc.DesiredTransition.MigrateDisablePlacement === true ? 'untainted' : 'ignore'; // C2, C3
  if (isClientTerminal(alloc) && !reconnects) return 'untainted'; // C5
  if (isExpired(alloc, nowNs)) return 'lost'; // C6, expiring joins lost
  if (isServerTerminal(alloc)) return 'ignore'; // C7
  const node = tainted.get(alloc.NodeID);
  if (node?.Status === 'disconnected') return bucketOnDisconnectedNode(alloc); // C8 to C11
  if (alloc.DesiredTransition.Migrate === true) return 'migrate'; // C12
  if (node === undefined || node?.Status === 'ready') return 'untainted'; // C13, C14
  if (node === null || node.Status === 'down') return staysOnDownNode(alloc, node) ? 'untainted' : 'lost'; // C15 to C18
  return 'untainted'; // C19
}

function bucketOnDisconnectedNode(alloc: Allocation): Bucket {
  if (alloc.ClientStatus === 'unknown') return 'untainted';
  const group = alloc.Job && findTaskGroup(alloc.Job, alloc.TaskGroup);
  return alloc.ClientStatus === 'pending' || !group?.Disconnect?.LostAfter ? 'lost' : 'untainted';
}

function staysOnDownNode(alloc: Allocation, node: Node | null): boolean {
  const group = alloc.Job && findTaskGroup(alloc.Job, alloc.TaskGroup);
  return node !== null && group?.Disconnect?.Replace === false && alloc.ClientStatus !== 'pending';
}

/** SC-155: on a node that is down or gone nobody is left to report the end of what was told to stop. */
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

/** SC-198. */
export function lostStop(alloc: Allocation, nowNs: number): StopOrder {
  return {
    alloc,
    description: LOST,
    clientStatus: 'lost',
    appendStates: [{ Field: 0, Value: 'lost', Time: rfc3339FromNs(nowNs) }],
  };
}

/** Whether anything of the allocation still counts for its job. */
export const isLive = (alloc: Allocation): boolean => !isTerminalAllocation(alloc);
