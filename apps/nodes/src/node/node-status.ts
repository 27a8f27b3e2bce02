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

/** ND-60: pools a node may be ready in although no row says so. */
const ALWAYS_THERE = 'default';

export function isWaitingForPool(tables: Tables, node: Pick<Node, 'NodePool'>): boolean {
  return node.NodePool !== ALWAYS_THERE && !tables.node_pools.has(node.NodePool);
}

/** The table of nodes.md section 5: what becomes of a requested status. O(allocations of the node). */
export function resultingStatus(tables: Tables, node: Node, requested: NodeStatus): NodeStatus {
  if (requested !== 'ready') return requested;
  if (node.Status === 'disconnected') return 'initializing';
  if (node.Status !== 'initializing') return 'ready';
  if (isWaitingForPool(tables, node)) return 'initializing';
  return owesAllocUpdate(tables, node) ? 'initializing' : 'ready';
}

/** ND-58: it has work and has not said since it was lost what became of it. */
function owesAllocUpdate(tables: Tables, node: Node): boolean {
  if (node.LastAllocUpdateIndex > node.LastMissedHeartbeatIndex) return false;
  for (const alloc of tables.allocs.by('node', node.ID)) if (!isTerminalAllocation(alloc)) return true;
  return false;
}

/** ND-80, ND-82: what a node is whose heartbeat is missing. O(allocations of the node). */
export function lostStatus(tables: Tables, node: Node, nowNs: number): 'down' | 'disconnected' {
  if (node.Status !== 'ready' && node.Status !== 'disconnected') return 'down';
  for (const alloc of tables.allocs.by('node', node.ID))
    if (alloc.DesiredStatus === 'run' && !isClientTerminal(alloc) && isInDisconnectWindow(alloc, nowNs))
      return 'disconnected';
  return 'down';
}

/** ND-83, ND-84: its group lets it survive a disconnect, and that time is not over. */
export function isInDisconnectWindow(alloc: Allocation, nowNs: number): boolean {
  const group = alloc.Job && findTaskGroup(alloc.Job, alloc.TaskGroup);
  const lostAfterNs = group?.Disconnect?.LostAfter ?? 0;
  if (lostAfterNs <= 0) return false;
  if (alloc.ClientStatus !== 'unknown') return true;
  const lastUnknown = alloc.AllocStates.findLast((entry) => entry.Field === 0 && entry.Value === 'unknown');
  return lastUnknown === undefined || nsFromRfc3339(lastUnknown.Time) + lostAfterNs > nowNs;
}

/** ND-70: a status write after which the jobs concerned are looked at again. */
export function statusNeedsEvaluations(before: NodeStatus, after: NodeStatus): boolean {
  if (after === 'down') return true;
  if (before === 'disconnected' || after === 'disconnected') return before !== after;
  return after === 'ready' && before !== 'ready';
}

/** ND-37: a registration after which the jobs concerned are looked at again. */
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
    sorted(node.Attributes),
    sorted(node.Meta),
    sorted(withoutReportTimes(node.Drivers)),
    sorted(node.HostVolumes),
    node.NodeResources.Devices ?? [],
  ];
  return JSON.stringify(facts(before)) !== JSON.stringify(facts(after));
}

/** The time of a driver's report says nothing about the node; with it every registration would be a change. */
function withoutReportTimes(drivers: Node['Drivers']): Record<string, unknown> {
  return Object.fromEntries(Object.entries(drivers).map(([name, d]) => [name, { ...d, UpdateTime: null }]));
}

const sorted = (map: Record<string, unknown>): [string, unknown][] =>
  Object.entries(map).toSorted(([a], [b]) => (a < b ? -1 : 1));
