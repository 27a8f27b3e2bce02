import { isServerTerminal, type Allocation } from '@waybill/model';
import { MIGRATING, NOT_NEEDED } from '../descriptions.js';
import type { GroupDraft } from './group-draft.js';
import type { NameIndex } from './name-index.js';
import type { Placement } from './reconciliation.js';
import { updateOf } from './rollout.js';

/** SC-215: canaries of a deployment that nobody waits for any more. */
export function stopUnneededCanaries(draft: GroupDraft): void {
  const unneeded = draft.rollout.unneededCanaries();
  if (unneeded.size === 0) return;
  for (const alloc of draft.allocs) {
    if (!unneeded.has(alloc.ID)) continue;
    draft.desired.Stop++;
    draft.stopAs(alloc, NOT_NEEDED);
  }
  draft.allocs = draft.allocs.filter(({ ID }) => !unneeded.has(ID));
}

/** SC-216. Once promoted they are allocations like others. */
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

/** It will not be healthy again and nothing reschedules it (SC-167): another one takes its place. */
const hasEnded = ({ ClientStatus }: Allocation): boolean => ClientStatus === 'complete' || ClientStatus === 'lost';

/** SC-219: while they wait they never count towards `Count`. */
export function setCanariesAside({ buckets, canaries, isCanarying }: GroupDraft): void {
  if (isCanarying) buckets.untainted = buckets.untainted.filter(({ ID }) => !canaries.has(ID));
}

/**
 * SC-218. Those of a rollout that waits for them are placed anew however they were lost, also where nothing of the version
 * before is left to go before.
 * @param destructive what they go before; where all of that moves to other nodes just now, it does so as it is
 */
export function newCanaries(draft: GroupDraft, names: NameIndex, destructive: readonly Allocation[]): Placement[] {
  const { state, group, rollout, canaries, isCanarying, buckets } = draft;
  const wanted = updateOf(group)?.Canary ?? 0;
  const before = destructive.length > 0 || !isCanarying ? destructive : buckets.migrate;
  if (!state || state.Promoted || canaries.size >= wanted) return [];
  if (rollout.current && rollout.activeId === '' && !rollout.isFailed) return []; // cancelled: nobody waits for them
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
