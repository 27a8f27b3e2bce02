import type { Allocation } from '@waybill/model';
import { isCanary } from './classification.js';
import { MIGRATING } from '../descriptions.js';
import type { LostWait } from './group-absences.js';
import type { GroupDraft } from './group-draft.js';
import type { NameIndex } from './name-index.js';
import type { Placement } from './reconciliation.js';

/** Placements of a group, without canaries. */
export interface GroupPlacements {
  /** Whether or not this attempt makes them. */
  readonly wanted: number;
  readonly made: number;
}

/**
 * Computes the missing placements (SC-199, SC-200, SC-220, SC-221, SC-225 to SC-227). @param canaries the new canaries,
 * which are placed in addition
 */
export function placeMissing(
  draft: GroupDraft,
  names: NameIndex,
  canaries: readonly Placement[],
  wait: LostWait,
): GroupPlacements {
  const { group, buckets, rescheduleNow, staying, canaries: waiting, isCanarying } = draft;
  // An allocation of a batch job that is stopped with rescheduling is both migrating and replaced now (SC-231). A
  // waiting canary does not count (SC-219), nor does its replacement.
  const counting = isCanarying ? rescheduleNow.filter(({ ID }) => !waiting.has(ID)) : rescheduleNow;
  const beyond = new Set(counting.slice(roomFor(draft, counting, wait)));
  const replaced = new Set([...buckets.migrate, ...counting]);
  let existing = buckets.untainted.length + replaced.size + wait.waiting;
  const due = rescheduleNow.filter((alloc) => !beyond.has(alloc));
  const now = due.map((previous) =>
    replacing(draft, previous, names, staying.has(previous.ID) ? 'keeps-previous' : 'stops-previous'),
  );
  const lost: Placement[] = [];
  for (const previous of buckets.lost) {
    if (existing >= group.Count) break;
    existing++;
    lost.push(replacing(draft, previous, names, 'no'));
  }
  const missing = Math.max(0, group.Count - existing);
  const wanted = now.length + lost.length + missing;
  let placements: Placement[] = [];
  // Places of lost allocations that wait stay empty (SC-202).
  if (!wait.delayed && draft.isFree)
    placements = [...now, ...lost, ...names.next(missing).map((name) => fresh(draft, name))];
  else if (!wait.delayed) {
    const vacant = Math.max(0, Math.min(group.Count, draft.placesBefore()) - existing);
    const beside = isCanarying ? [...canaries, ...[...waiting.values()].map(({ Name: name }) => ({ name }))] : [];
    placements = [
      ...now.filter(({ previous }) => !isOfFailedDeployment(draft, previous)),
      ...lost,
      ...names.next(vacant, beside).map((name) => fresh(draft, name)),
    ];
  }
  draft.desired.Place += placements.length;
  // Canaries are limited by `Count` on their own, because they are placed in addition (SC-221).
  const placedCanaries = canaries.slice(0, group.Count);
  if (canaries.length > placedCanaries.length) draft.desired.Place = group.Count;
  for (const item of [...placedCanaries, ...placements]) draft.out.placements.push(item);
  return { wanted, made: placements.length };
}

/**
 * The number of due replacements that fit: with the other allocations they must not exceed `Count`. Read strictly, the
 * rule (SC-214) replaces each of them, and leaves one extra allocation running until the job's next evaluation, which
 * may never come.
 */
function roomFor({ group, buckets }: GroupDraft, due: readonly Allocation[], wait: LostWait): number {
  const replaced = new Set(due);
  const stay = buckets.untainted.filter(({ ClientStatus }) => ClientStatus !== 'unknown').length;
  const move = buckets.migrate.filter((alloc) => !replaced.has(alloc)).length;
  return Math.max(0, group.Count - stay - move - wait.waiting);
}

/** Moves migrating allocations to other nodes (SC-229, SC-230). */
export function migrateAway(draft: GroupDraft, names: NameIndex): void {
  const { migrate } = draft.buckets;
  draft.desired.Migrate += migrate.length;
  for (const alloc of migrate) {
    const followupEvalId = draft.out.rewrites.get(alloc.ID)?.FollowupEvalID ?? '';
    draft.out.stop({ alloc, description: MIGRATING, followupEvalId });
    const { Reschedule, MigrateDisablePlacement } = alloc.DesiredTransition;
    if (draft.isBatch && (Reschedule === true || MigrateDisablePlacement === true)) continue;
    draft.out.placements.push(replacing(draft, alloc, names, 'no'));
  }
}

function isOfFailedDeployment({ rollout }: GroupDraft, alloc: Allocation | undefined): boolean {
  return rollout.isFailed && alloc?.DeploymentID === rollout.current?.ID;
}

function fresh({ group, placesOlder }: GroupDraft, name: string): Placement {
  return { name, group, previous: undefined, reschedule: 'no', canary: false, olderVersion: placesOlder };
}

function replacing(
  { group, placesOlder }: GroupDraft,
  previous: Allocation,
  names: NameIndex,
  reschedule: Placement['reschedule'],
): Placement {
  const canary = isCanary(previous);
  return {
    name: canary ? previous.Name : names.successorOf(previous.Name),
    group,
    previous,
    reschedule,
    canary,
    olderVersion: placesOlder && !canary,
  };
}
