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

/** A node whose drain is over, with the allocations to mark before that is written. */
export interface EndedDrain {
  readonly node: Node;
  readonly strategy: DrainStrategy;
  readonly marked: readonly Allocation[];
  readonly deadlineReached: boolean;
}

/**
 * Whether the deadline has passed, after which the remaining allocations are moved regardless of `max_parallel` (DR-60,
 * DR-61).
 */
export function isForced(strategy: DrainStrategy, nowMs: number): boolean {
  return strategy.Deadline < 0 || deadlineMs(strategy) <= nowMs;
}

/**
 * When the drain is forced, unix ms; Infinity: never. Computed without nanoseconds, which a number does not hold
 * exactly.
 */
export function deadlineMs({ ForceDeadline }: DrainStrategy): number {
  return ForceDeadline === null ? Infinity : Date.parse(ForceDeadline);
}

/**
 * The end of the node's drain: by deadline (DR-60), or because every allocation that it waits for has ended (DR-30 to
 * DR-34). Undefined: the drain continues. O(allocations of the node).
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
 * The allocations of a job that may be moved now (DR-40 to DR-43, DR-96). It decides on stored marks only: a caller
 * with marks in flight must wait for them (DR-102, DR-103). `onDrainingNode` false: the job needs no more watching
 * (DR-45). Cost: O(the job's running allocations on all nodes, which `max_parallel` counts) (DR-42).
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

/**
 * Whether the job's allocations are marked a few at a time, as their group allows; those of other jobs wait for the
 * deadline or are marked last (DR-50).
 */
export const movesInTurn = (job: Job): boolean => job.Type === 'service' && !stopsLast(job);

/** Whether the job's allocations are marked last, as others may need them until they have ended (DR-31). */
function stopsLast(job: Job): boolean {
  return job.Type === 'system' || job.TaskGroups.some(({ Tasks }) => Tasks.some((task) => task.CSIPluginConfig));
}

/**
 * The mark that moves an allocation (DR-70). Batch work that has not ended by the deadline is not started again
 * elsewhere (DR-51).
 */
export function markOf(alloc: Allocation, job: Job): DesiredTransition {
  const isBatch = job.Type === 'batch' || job.Type === 'sysbatch';
  return { ...NO_TRANSITION, Migrate: true, MigrateDisablePlacement: isBatch ? true : null };
}

/** A node that was deleted does not drain (DR-46). */
const isDraining = (node: Node | undefined): boolean => node !== undefined && node.DrainStrategy !== null;
const isMarked = (alloc: Allocation): boolean => alloc.DesiredTransition.Migrate === true;
