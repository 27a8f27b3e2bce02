import { isDeepStrictEqual } from 'node:util';
import {
  type Allocation,
  findTaskGroup,
  isClientTerminal,
  isTerminalAllocation,
  type Node,
  type NodeStatus,
  nsFromRfc3339,
} from '@waybill/model';
import type { Tables } from '@waybill/state';

const STATUSES: readonly string[] = ['initializing', 'ready', 'down', 'disconnected'];

export function isNodeStatus(text: string): text is NodeStatus {
  return STATUSES.includes(text);
}

/** The pool in which a node may be ready although no row exists for it (ND-60). */
const ALWAYS_THERE = 'default';

export function isWaitingForPool(tables: Tables, node: Pick<Node, 'NodePool'>): boolean {
  return node.NodePool !== ALWAYS_THERE && !tables.node_pools.has(node.NodePool);
}

/** The status that a requested status leads to, by the table of nodes.md section 5. O(allocations of the node). */
export function resultingStatus(tables: Tables, node: Node, requested: NodeStatus): NodeStatus {
  if (requested !== 'ready') return requested;
  if (node.Status === 'disconnected') return 'initializing';
  if (node.Status !== 'initializing') return 'ready';
  if (isWaitingForPool(tables, node)) return 'initializing';
  return owesAllocUpdate(tables, node) ? 'initializing' : 'ready';
}

/** Whether the node has work and has not reported on it since it was lost (ND-58). */
function owesAllocUpdate(tables: Tables, node: Node): boolean {
  if (node.LastAllocUpdateIndex > node.LastMissedHeartbeatIndex) return false;
  for (const alloc of tables.allocs.by('node', node.ID)) if (!isTerminalAllocation(alloc)) return true;
  return false;
}

/** The status of a node whose heartbeat is missing (ND-80, ND-82). O(allocations of the node). */
export function lostStatus(tables: Tables, node: Node, nowNs: number): 'down' | 'disconnected' {
  if (node.Status !== 'ready' && node.Status !== 'disconnected') return 'down';
  for (const alloc of tables.allocs.by('node', node.ID))
    if (alloc.DesiredStatus === 'run' && !isClientTerminal(alloc) && isInDisconnectWindow(alloc, nowNs))
      return 'disconnected';
  return 'down';
}

/** Whether the allocation's group survives a disconnect, and its time for that is not over (ND-83, ND-84). */
export function isInDisconnectWindow(alloc: Allocation, nowNs: number): boolean {
  const group = alloc.Job && findTaskGroup(alloc.Job, alloc.TaskGroup);
  const lostAfterNs = group?.Disconnect?.LostAfter ?? 0;
  if (lostAfterNs <= 0) return false;
  if (alloc.ClientStatus !== 'unknown') return true;
  const lastUnknown = alloc.AllocStates.findLast((entry) => entry.Field === 0 && entry.Value === 'unknown');
  return lastUnknown === undefined || nsFromRfc3339(lastUnknown.Time) + lostAfterNs > nowNs;
}

/** Whether a change of status requires evaluations of the jobs concerned (ND-70). */
export function statusNeedsEvaluations(before: NodeStatus, after: NodeStatus): boolean {
  if (after === 'down') return true;
  if (before === 'disconnected' || after === 'disconnected') return before !== after;
  return after === 'ready' && before !== 'ready';
}

/** Whether a registration requires evaluations of the jobs concerned (ND-37). */
export function registrationNeedsEvaluations(before: Node | undefined, after: Node): boolean {
  if (after.Status === 'down') return true;
  if (!before) return after.Status === 'ready';
  return statusNeedsEvaluations(before.Status, after.Status) || descriptionChanged(before, after);
}

function descriptionChanged(before: Node, after: Node): boolean {
  const facts = (node: Node) => [
    node.Datacenter,
    node.Name,
    node.NodeClass,
    node.NodePool,
    node.Attributes,
    node.Meta,
    withoutReportTimes(node.Drivers),
    node.HostVolumes,
    node.NodeResources.Devices ?? [],
  ];
  return !isDeepStrictEqual(facts(before), facts(after));
}

/** Drivers without the times of their reports: with them, every registration would count as a change. */
function withoutReportTimes(drivers: Node['Drivers']): Record<string, unknown> {
  return Object.fromEntries(Object.entries(drivers).map(([name, d]) => [name, { ...d, UpdateTime: null }]));
}
