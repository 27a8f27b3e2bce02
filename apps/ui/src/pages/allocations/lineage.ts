import type { Allocation } from '../../api/contract.js';

/** How one allocation and another are related. */
export interface Relative {
  readonly id: string;
  /** A sentence with the place of the other's link at its end. */
  readonly words: string;
}

/**
 * Where an allocation came from and what took its place. A reschedule leaves its mark in the tracker; a migration is wished
 * for by a drain; whatever else has a predecessor replaces it because the job changed or the machine was lost.
 */
export function relativesOf(alloc: Allocation): readonly Relative[] {
  const { PreviousAllocation = '', NextAllocation = '', PreemptedByAllocation = '', PreemptedAllocations } = alloc;
  const attempts = (alloc.RescheduleTracker?.Events ?? []).length;
  return [
    ...(PreviousAllocation === ''
      ? []
      : [{ id: PreviousAllocation, words: attempts > 0 ? `Rescheduled, attempt ${attempts}, from` : 'Replaces' }]),
    ...(NextAllocation === '' ? [] : [{ id: NextAllocation, words: successor(alloc) }]),
    ...(PreemptedByAllocation === '' ? [] : [{ id: PreemptedByAllocation, words: 'Made room for' }]),
    ...(PreemptedAllocations ?? []).map((id) => ({ id, words: 'Took the room of' })),
  ];
}

function successor({ DesiredTransition, ClientStatus }: Allocation): string {
  if (DesiredTransition?.Migrate === true) return 'Migrated to';
  return ClientStatus === 'failed' ? 'Rescheduled as' : 'Replaced by';
}
