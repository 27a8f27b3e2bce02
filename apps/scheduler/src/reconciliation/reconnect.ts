import { findTaskGroup, nsFromRfc3339, isServerTerminal, type Allocation, type Job } from '@waybill/model';
import { clientState, disconnectOf, isFromOlderJob } from './classification.js';
import { NOT_NEEDED, NOT_NEEDED_RECONNECTED, RESCHEDULED } from '../descriptions.js';
import type { StopOrder } from '../plan-draft.js';

/** The decision on reconnected allocations: each is in exactly one of the two lists (SC-182). */
export interface Reconnected {
  readonly kept: Allocation[];
  /** Originals that are not kept, and replacements that are no longer needed. */
  readonly stops: StopOrder[];
}

/**
 * Decides between allocations that reconnected and their replacements (14.5). Pure. Cost: O(reconnecting × length of
 * their chains of replacements).
 *
 * @param stored all stored allocations of the group by ID, also stopped ones, without which chains would break (SC-181)
 */
export function resolveReconnecting(
  reconnecting: readonly Allocation[],
  stored: ReadonlyMap<string, Allocation>,
  job: Job,
  nowNs: number,
): Reconnected {
  const stops = new Map<string, StopOrder>();
  for (const original of reconnecting) {
    const own = stopOfOriginal(original, job, nowNs);
    if (own) {
      stops.set(original.ID, own);
      continue;
    }
    const replacements = replacementsOf(original, stored).filter(({ ID }) => !stops.has(ID));
    if (replacements.some((replacement) => prefersReplacement(original, replacement)))
      stops.set(original.ID, { alloc: original, description: NOT_NEEDED }); // row N4
    // Row N5.
    else for (const alloc of replacements) stops.set(alloc.ID, { alloc, description: NOT_NEEDED_RECONNECTED });
  }
  return { kept: reconnecting.filter(({ ID }) => !stops.has(ID)), stops: [...stops.values()] };
}

/** The stop of an original that cannot stay (rows N1 and N2). */
function stopOfOriginal(alloc: Allocation, job: Job, nowNs: number): StopOrder | undefined {
  if (alloc.ClientStatus === 'failed')
    return {
      alloc,
      description: RESCHEDULED,
      clientStatus: 'failed',
      appendStates: [clientState('failed', nowNs)],
    };
  const { Migrate, Reschedule, ForceReschedule } = alloc.DesiredTransition;
  const unwanted = Migrate === true || Reschedule === true || ForceReschedule === true || isFromOlderJob(alloc, job);
  return unwanted || isServerTerminal(alloc) ? { alloc, description: NOT_NEEDED } : undefined;
}

/** Replacements that may still be stopped (SC-180). */
const replacementsOf = (original: Allocation, stored: ReadonlyMap<string, Allocation>): Allocation[] =>
  chainOf(original, stored).filter((alloc) => !isServerTerminal(alloc));

/** The replacement, its replacement, and so on. A cyclic chain ends where it repeats. */
export function chainOf(original: Allocation, stored: ReadonlyMap<string, Allocation>): Allocation[] {
  const chain: Allocation[] = [];
  const seen = new Set([original.ID]);
  let next = stored.get(original.NextAllocation);
  while (next && !seen.has(next.ID)) {
    seen.add(next.ID);
    chain.push(next);
    next = stored.get(next.NextAllocation);
  }
  return chain;
}

/** Decides by the `reconcile` strategy of the original's group. */
export function prefersReplacement(original: Allocation, replacement: Allocation): boolean {
  if (replacement.Job && original.Job && isFromOlderJob(original, replacement.Job)) return true;
  switch (disconnectOf(original)?.Reconcile) {
    case 'keep_original':
      return false;
    case 'keep_replacement':
      return true;
    case 'longest_running':
      return ranLess(original, replacement);
    default:
      return scoresBetter(original, replacement);
  }
}

function scoresBetter(original: Allocation, replacement: Allocation): boolean {
  const [was, is] = [bestScore(original), bestScore(replacement)];
  const better = is !== undefined && (was === undefined || is > was);
  return better && (replacement.ClientStatus === 'running' || original.ClientStatus !== 'running');
}

function bestScore(alloc: Allocation): number | undefined {
  const scores = (alloc.Metrics?.ScoreMetaData ?? []).map((meta) => meta.NormScore);
  return scores.length > 0 ? Math.max(...scores) : undefined;
}

/** Whether the original ran for a shorter time than the replacement (SC-188). */
function ranLess(original: Allocation, replacement: Allocation): boolean {
  const [was, is] = [startOf(original), startOf(replacement)];
  if (was === undefined && is === undefined) return scoresBetter(original, replacement);
  if (was === undefined || is === undefined) return was === undefined;
  return was >= is;
}

/** When the leader started, or without one the task that started first; unix ns. */
function startOf(alloc: Allocation): number | undefined {
  const leader = alloc.Job && findTaskGroup(alloc.Job, alloc.TaskGroup)?.Tasks.find((task) => task.Leader);
  const states = leader ? [alloc.TaskStates[leader.Name]] : Object.values(alloc.TaskStates);
  const starts = states.map((state) => nsFromRfc3339(state?.LastRestart ?? state?.StartedAt ?? null));
  const known = starts.filter((start) => start > 0);
  return known.length > 0 ? Math.min(...known) : undefined;
}
