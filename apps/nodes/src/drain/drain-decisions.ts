import {
  type Allocation,
  type DesiredTransition,
  type DrainStrategy,
  findTaskGroup,
  isClientTerminal,
  isTerminalAllocation,
  type Job,
  NO_TRANSITION,
  type Node,
} from '@waybill/model';
import { namespacedKey, oldestFirst, type Tables } from '@waybill/state';
import { jobOf } from '../node/node-evaluations.js';

/** A node whose drain is over: what still has to be marked on it before that is written. */
export interface EndedDrain {
  readonly node: Node;
  readonly strategy: DrainStrategy;
  readonly marked: readonly Allocation[];
  readonly deadlineReached: boolean;
}

/** DR-60, DR-61: what is left is moved whatever it breaks. */
export function isForced(strategy: DrainStrategy, nowMs: number): boolean {
  return strategy.Deadline < 0 || deadlineMs(strategy) <= nowMs;
}

/** When the drain is forced, unix ms; Infinity: never. Not by way of ns, which a number does not hold exactly. */
export function deadlineMs({ ForceDeadline }: DrainStrategy): number {
  return ForceDeadline === null ? Infinity : Date.parse(ForceDeadline);
}

/**
 * Whether the node's drain is over, and what goes with it: by deadline (DR-60), or because nothing that it waits for is
 * left (DR-30 to DR-34). undefined: it goes on. O(allocations of the node).
 */
export function endedDrain(tables: Tables, node: Node, deadlineReached: boolean): EndedDrain | undefined {
  const strategy = node.DrainStrategy;
  if (!strategy) return undefined;
  const marked: Allocation[] = [];
  for (const alloc of tables.allocs.by('node', node.ID)) {
    const job = jobOf(tables, alloc);
    const last = job !== undefined && stopsLast(job);
    if (!deadlineReached && !last && !isClientTerminal(alloc)) return undefined;
    const stays = job?.Type === 'system' && strategy.IgnoreSystemJobs;
    if (!stays && !isTerminalAllocation(alloc) && !isMarked(alloc)) marked.push(alloc);
  }
  return { node, strategy, marked: oldestFirst(marked), deadlineReached };
}

/**
 * DR-40 to DR-43, DR-96: which allocations of a job may be moved now. Decided on what is stored: who has asked for marks
 * that are not stored yet must wait for them (DR-102, DR-103). `onDrainingNode` false: the job needs no more watching
 * (DR-45).
 * Cost: the job's allocations that are not over, for `max_parallel` counts over all nodes (DR-42).
 */
export function marksOfJob(
  tables: Tables,
  namespace: string,
  jobId: string,
): { readonly marked: readonly Allocation[]; readonly onDrainingNode: boolean } {
  const key = namespacedKey(namespace, jobId);
  const job = tables.jobs.get(key);
  if (!job || !movesInTurn(job)) return { marked: [], onDrainingNode: false };
  const groups = new Map<string, { healthy: number; drainable: Allocation[] }>();
  let onDrainingNode = false;
  for (const alloc of tables.allocs.by('live', key)) {
    const drains = isDraining(tables.nodes.get(alloc.NodeID));
    onDrainingNode ||= drains;
    if (isMarked(alloc)) continue;
    const group = groups.get(alloc.TaskGroup) ?? { healthy: 0, drainable: [] };
    groups.set(alloc.TaskGroup, group);
    if (typeof alloc.DeploymentStatus?.Healthy === 'boolean') group.healthy++;
    if (drains) group.drainable.push(alloc);
  }
  const marked = [...groups].flatMap(([name, { healthy, drainable }]) => {
    const group = findTaskGroup(job, name);
    const free = group ? healthy - (group.Count - (group.Migrate?.MaxParallel ?? 1)) : drainable.length;
    return oldestFirst(drainable).slice(0, Math.max(0, free));
  });
  return { marked, onDrainingNode };
}

/** Marked allocation by allocation, with regard to its group; the others wait for the deadline or go last (DR-50). */
export const movesInTurn = (job: Job): boolean => job.Type === 'service' && !stopsLast(job);

/** DR-31: what others may need until they have ended. */
function stopsLast(job: Job): boolean {
  return job.Type === 'system' || job.TaskGroups.some(({ Tasks }) => Tasks.some((task) => task.CSIPluginConfig));
}

/** DR-70; batch work that has not ended by the deadline is not begun again elsewhere (DR-51). */
export function markOf(alloc: Allocation, job: Job): DesiredTransition {
  const isBatch = job.Type === 'batch' || job.Type === 'sysbatch';
  return { ...NO_TRANSITION, Migrate: true, MigrateDisablePlacement: isBatch ? true : null };
}

/** DR-46: a node that is gone does not drain. */
const isDraining = (node: Node | undefined): boolean => node !== undefined && node.DrainStrategy !== null;
const isMarked = (alloc: Allocation): boolean => alloc.DesiredTransition.Migrate === true;
