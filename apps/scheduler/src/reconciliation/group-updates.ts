import type { Allocation } from '@waybill/model';
import { NOT_NEEDED } from '../descriptions.js';
import type { GroupDraft } from './group-draft.js';
import type { NameIndex } from './name-index.js';
import { updateOf } from './rollout.js';

/** The allocations of a group that differ from the job's current version. */
export interface GroupUpdates {
  /** Updated in place or destructively. */
  readonly count: number;
  /** Allocations to stop and place again, lowest names first. */
  readonly destructive: readonly Allocation[];
}

/** Updates allocations in place at once (SC-255), and leaves the others for later steps (section 15). */
export function updateRest(draft: GroupDraft): GroupUpdates {
  const destructive: Allocation[] = [];
  let inPlace = 0;
  for (const alloc of draft.buckets.untainted) {
    const decision = draft.input.decideUpdate(alloc, draft.group);
    switch (decision.kind) {
      case 'ignore':
        draft.desired.Ignore++;
        break;
      case 'in-place':
        inPlace++;
        rewriteInPlace(draft, decision.alloc);
        break;
      case 'destructive':
        destructive.push(alloc);
        break;
    }
  }
  draft.desired.InPlaceUpdate += inPlace;
  return { count: inPlace + destructive.length, destructive };
}

function rewriteInPlace({ out }: GroupDraft, alloc: Allocation): void {
  const before = out.rewrites.get(alloc.ID);
  out.inPlace.add(alloc.ID);
  out.rewrites.set(alloc.ID, before ? { ...before, ...versionOf(alloc) } : alloc);
}

/** The fields that an in-place update changes, for a row that another step changes too. */
function versionOf({ EvalID, Job, AllocatedResources }: Allocation): Partial<Allocation> {
  return { EvalID, Job, AllocatedResources };
}

/**
 * Stops unknown allocations of an older version beyond `Count`, which have their replacement already, instead of
 * replacing them again (SC-196 within SC-340).
 *
 * @returns the allocations to replace
 */
export function dropReplacedUnknown(
  draft: GroupDraft,
  names: NameIndex,
  destructive: readonly Allocation[],
): readonly Allocation[] {
  const { buckets, rescheduleNow, group } = draft;
  if (limitOf(draft) === 0) return destructive;
  let excess = buckets.untainted.length + buckets.migrate.length + rescheduleNow.length - group.Count;
  const dropped = new Set<string>();
  for (const alloc of destructive) {
    if (excess <= 0) break;
    if (alloc.ClientStatus !== 'unknown') continue;
    excess--;
    dropped.add(alloc.ID);
    draft.desired.Stop++;
    draft.stopAs(alloc, NOT_NEEDED);
    names.release(alloc.Name);
  }
  return destructive.filter(({ ID }) => !dropped.has(ID));
}

/**
 * Replaces allocations destructively (SC-222 to SC-224). @param placed number of other placements of this attempt,
 * without canaries: they count first
 */
export function replaceDestructive(
  draft: GroupDraft,
  names: NameIndex,
  destructive: readonly Allocation[],
  placed: number,
): void {
  const { group, desired, out } = draft;
  const limit = Math.min(limitOf(draft), group.Count) - placed; // never more than `Count` (SC-340)
  const chosen = destructive.slice(0, Math.max(0, limit));
  desired.DestructiveUpdate += chosen.length;
  desired.Ignore += destructive.length - chosen.length;
  for (const alloc of chosen) out.destructive.push({ alloc, group, name: names.successorOf(alloc.Name) });
}

/** The number of allocations that may be replaced at once, as the deployment stands. */
function limitOf({ group, rollout, buckets, isCanarying, isFree }: GroupDraft): number {
  const update = updateOf(group);
  const { current } = rollout;
  if (!update) return group.Count;
  if (isCanarying || (current && !isFree)) return 0;
  let limit = update.MaxParallel;
  if (!current) return limit;
  for (const { DeploymentID, DeploymentStatus } of buckets.untainted) {
    if (DeploymentID !== current.ID) continue;
    if (DeploymentStatus?.Healthy === false) return 0;
    if (DeploymentStatus?.Healthy !== true) limit--;
  }
  return Math.max(0, limit);
}
