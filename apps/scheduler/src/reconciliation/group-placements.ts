import type { Allocation } from '@waybill/model';
import { isCanary } from './classification.js';
import { MIGRATING } from '../descriptions.js';
import type { LostWait } from './group-absences.js';
import type { GroupDraft } from './group-draft.js';
import type { NameIndex } from './name-index.js';
import type { Placement } from './reconciliation.js';

/** Placements of a group, canaries aside. */
export interface GroupPlacements {
  /** Made in this attempt or not. */
  readonly wanted: number;
  readonly made: number;
}

/** SC-199, SC-200, SC-220, SC-221, SC-225 to SC-227. @param canaries the new ones, placed beside the others */
export function placeMissing(
  draft: GroupDraft,
  names: NameIndex,
  canaries: readonly Placement[],
  wait: LostWait,
): GroupPlacements {
  const { group, buckets, rescheduleNow, staying, canaries: waiting, isCanarying } = draft;
  // One of a batch job that is stopped with rescheduling is both migrating and replaced now (SC-231). A canary that waits
  // is not of those that count (SC-219), when it is replaced either.
  const counting = isCanarying ? rescheduleNow.filter(({ ID }) => !waiting.has(ID)) : rescheduleNow;
  const beyond = new Set(counting.slice(roomFor(draft, counting, wait)));
  const replaced = new Set([...buckets.migrate, ...counting.filter((alloc) => !beyond.has(alloc))]);
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
  if (wait.delayed) placements = []; // SC-202
  else if (draft.isFree) placements = [...now, ...lost, ...names.next(missing).map((name) => fresh(draft, name))];
  else {
    const vacant = Math.max(0, Math.min(group.Count, draft.placesBefore()) - existing);
    const beside = isCanarying ? [...canaries, ...[...waiting.values()].map(({ Name: name }) => ({ name }))] : [];
    placements = [
      ...now.filter(({ previous }) => !isOfFailedDeployment(draft, previous)),
      ...lost,
      ...names.next(vacant, beside).map((name) => fresh(draft, name)),
    ];
  }
  draft.desired.Place += placements.length;
  // SC-221, of canaries by themselves: they stand beside what is placed.
  const placedCanaries = canaries.slice(0, group.Count);
  if (canaries.length > placedCanaries.length) draft.desired.Place = group.Count;
  draft.out.placements.push(...placedCanaries, ...placements);
  return { wanted, made: placements.length };
}

/**
 * How many of those that are due may be replaced: with the others they are no more than wanted. By the letter (SC-214) each
 * is replaced, and one too many runs until the job's next evaluation, which may be never.
 */
function roomFor({ group, buckets }: GroupDraft, due: readonly Allocation[], wait: LostWait): number {
  const replaced = new Set(due);
  const stay = buckets.untainted.filter(({ ClientStatus }) => ClientStatus !== 'unknown').length;
  const move = buckets.migrate.filter((alloc) => !replaced.has(alloc)).length;
  return Math.max(0, group.Count - stay - move - wait.waiting);
}

/** SC-229, SC-230. */
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
