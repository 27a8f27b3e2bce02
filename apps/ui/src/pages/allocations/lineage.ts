import type { Allocation } from '../../api/contract.js';

/** Relative says how one allocation is related to another. */
export interface Relative {
  readonly id: string;
  /** A sentence that ends with the place for the link to the other allocation. */
  readonly words: string;
}

/**
 * Returns the allocations that an allocation replaces, and those that took its place. The tracker records a reschedule,
 * and a drain requests a migration. In all other cases the job changed or the machine was lost.
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
