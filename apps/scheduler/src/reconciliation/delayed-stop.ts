import { findTaskGroup, nsFromRfc3339, NS_PER_SECOND, type Allocation } from '@waybill/model';

/** Shortest kill timeout that delays a replacement (SC-201). */
export const MIN_KILL_WAIT_NS = 5 * NS_PER_SECOND;

/**
 * Unix ns before which a lost allocation must not be replaced, because its agent stops it only then; 0: at once
 * (SC-201).
 */
export function replaceableFrom(alloc: Allocation, nowNs: number): number {
  const group = alloc.Job && findTaskGroup(alloc.Job, alloc.TaskGroup);
  const stopAfter = group?.Disconnect?.StopOnClientAfter ?? 0;
  if (!group || stopAfter <= 0) return 0;
  const lost = alloc.AllocStates.find((entry) => entry.Field === 0 && entry.Value === 'lost');
  const since = nsFromRfc3339(lost?.Time ?? null) || nowNs;
  return since + stopAfter + Math.max(MIN_KILL_WAIT_NS, ...group.Tasks.map((task) => task.KillTimeout));
}
