import { isServerTerminal, type Allocation } from '@waybill/model';
import { MIGRATING, NOT_NEEDED } from '../descriptions.js';
import type { GroupDraft } from './group-draft.js';
import type { NameIndex } from './name-index.js';
import type { Placement } from './reconciliation.js';
import { updateOf } from './rollout.js';

/** Stops canaries of deployments that are over (SC-215). */
export function stopUnneededCanaries(draft: GroupDraft): void {
  const unneeded = draft.rollout.unneededCanaries();
  for (const alloc of draft.allocs) {
    if (!unneeded.has(alloc.ID)) continue;
    draft.desired.Stop++;
    draft.stopAs(alloc, NOT_NEEDED);
  }
  draft.allocs = draft.allocs.filter(({ ID }) => !unneeded.has(ID));
}

/** Finds the canaries of the current deployment (SC-216). Promoted canaries are ordinary allocations. */
export function findCanaries(draft: GroupDraft): void {
  const { known } = draft;
  if (!known || draft.rollout.isFailed) return;
  const placed = new Set(known.PlacedCanaries);
  const gone = new Set<string>();
  for (const alloc of draft.allocs) {
    if (!placed.has(alloc.ID)) continue;
    const bucket = known.Promoted ? 'untainted' : draft.bucketOf(alloc);
    if (bucket === 'migrate' || bucket === 'lost' || bucket === 'expiring') {
      gone.add(alloc.ID);
      draft.stopAs(alloc, MIGRATING);
    } else if (!isServerTerminal(alloc) && !hasEnded(alloc)) draft.canaries.set(alloc.ID, alloc);
  }
  draft.allocs = draft.allocs.filter(({ ID }) => !gone.has(ID));
}

/**
 * Whether the allocation will not be healthy again and is not rescheduled (SC-167), so that another one takes its
 * place.
 */
const hasEnded = ({ ClientStatus }: Allocation): boolean => ClientStatus === 'complete' || ClientStatus === 'lost';

/** Removes waiting canaries from the buckets: they never count towards `Count` (SC-219). */
export function setCanariesAside({ buckets, canaries, isCanarying }: GroupDraft): void {
  if (isCanarying) buckets.untainted = buckets.untainted.filter(({ ID }) => !canaries.has(ID));
}

/**
 * The names of the canaries to place (SC-218). Canaries of a rollout that waits for promotion are placed again however
 * they were lost, even if no allocation of the previous version is left to replace.
 * @param destructive allocations that the canaries will replace; if all of them are moving to other nodes now, they
 * move in their present version
 */
export function newCanaries(draft: GroupDraft, names: NameIndex, destructive: readonly Allocation[]): Placement[] {
  const { state, group, rollout, canaries, isCanarying, buckets } = draft;
  const wanted = updateOf(group)?.Canary ?? 0;
  const before = destructive.length > 0 || !isCanarying ? destructive : buckets.migrate;
  if (!state || state.Promoted || canaries.size >= wanted) return [];
  // The deployment was cancelled, so its canaries are not needed.
  if (rollout.current && rollout.activeId === '' && !rollout.isFailed) return [];
  const isAwaited = isCanarying && rollout.activeId !== '';
  if (before.length === 0 && !isAwaited) return [];
  state.DesiredCanaries = wanted;
  const missing = wanted - canaries.size;
  draft.desired.Canary += missing;
  if (rollout.isPaused || rollout.isFailed) return [];
  return names
    .nextCanaries(missing, canaries.values(), before)
    .map((name) => ({ name, group, previous: undefined, reschedule: 'no', canary: true, olderVersion: false }));
}
