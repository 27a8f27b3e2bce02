import { findTaskGroup, nsFromRfc3339, isServerTerminal, type Allocation, type Job } from '@waybill/model';
import { clientState, disconnectOf, isFromOlderJob } from './classification.js';
import { NOT_NEEDED, NOT_NEEDED_RECONNECTED, RESCHEDULED } from '../descriptions.js';
import type { StopOrder } from '../plan-draft.js';

/** What becomes of allocations that came back: every one is in exactly one of the two (SC-182). */
export interface Reconnected {
  readonly kept: Allocation[];
  /** Originals that are not kept, and replacements that are not needed any more. */
  readonly stops: StopOrder[];
}

/**
 * Resolves allocations that came back after a disconnect against what replaced them (14.5). Pure.
 * Cost: O(reconnecting × length of their chains of replacements).
 *
 * @param stored all allocations of the group that are stored, by id: also stopped ones, or chains would break (SC-181)
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
      stops.set(original.ID, { alloc: original, description: NOT_NEEDED }); // N4
    else for (const alloc of replacements) stops.set(alloc.ID, { alloc, description: NOT_NEEDED_RECONNECTED }); // N5
  }
  return { kept: reconnecting.filter(({ ID }) => !stops.has(ID)), stops: [...stops.values()] };
}

/** N1, N2. */
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

/** SC-180: those that may still be stopped. */
const replacementsOf = (original: Allocation, stored: ReadonlyMap<string, Allocation>): Allocation[] =>
  chainOf(original, stored).filter((alloc) => !isServerTerminal(alloc));

/** What replaced it, what replaced that in turn, and so on. A chain that bites itself ends there. */
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

/** The picker: by the `reconcile` strategy of the original's group. */
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

/** SC-188. */
function ranLess(original: Allocation, replacement: Allocation): boolean {
  const [was, is] = [startOf(original), startOf(replacement)];
  if (was === undefined && is === undefined) return scoresBetter(original, replacement);
  if (was === undefined || is === undefined) return was === undefined;
  return was >= is;
}

/** Of the leader if there is one, else of the task that started first; unix ns. */
function startOf(alloc: Allocation): number | undefined {
  const leader = alloc.Job && findTaskGroup(alloc.Job, alloc.TaskGroup)?.Tasks.find((task) => task.Leader);
  const states = leader ? [alloc.TaskStates[leader.Name]] : Object.values(alloc.TaskStates);
  const starts = states.map((state) => nsFromRfc3339(state?.LastRestart ?? state?.StartedAt ?? null));
  const known = starts.filter((start) => start > 0);
  return known.length > 0 ? Math.min(...known) : undefined;
}
