import { expect, it } from 'vitest';
import type { Allocation } from '../../api/contract.js';
import { relativesOf } from './lineage.js';

const words = (of: Partial<Allocation>) =>
  relativesOf({ ClientStatus: 'complete', ...of } as Allocation).map((one) => one.words);

it('names how an allocation and its predecessor and successor are related', () => {
  const RescheduleTracker = {
    Events: [{ RescheduleTime: 1, PrevAllocID: 'a', PrevNodeID: 'n', Delay: 0 }],
    LastReschedule: '',
  };
  expect(words({})).toEqual([]);
  expect(words({ PreviousAllocation: 'a' })).toEqual(['Replaces']);
  expect(words({ PreviousAllocation: 'a', RescheduleTracker })).toEqual(['Rescheduled, attempt 1, from']);
  expect(words({ NextAllocation: 'b', ClientStatus: 'failed' })).toEqual(['Rescheduled as']);
  expect(
    words({ NextAllocation: 'b', DesiredTransition: { Migrate: true } as Allocation['DesiredTransition'] & object }),
  ).toEqual(['Migrated to']);
  expect(words({ PreemptedByAllocation: 'c', PreemptedAllocations: ['d'] })).toEqual([
    'Made room for',
    'Took the room of',
  ]);
});
