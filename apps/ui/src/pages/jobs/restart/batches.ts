import type { AllocListStub } from '../../../api/contract.js';

/** The size of a batch as a reader writes it: a number of allocations, or a percentage of all of them. */
export const BATCH_SIZE_PATTERN = '[1-9][0-9]{0,4}%?';

export type RestartedAllocation = Pick<
  AllocListStub,
  'ID' | 'TaskGroup' | 'DesiredStatus' | 'ClientStatus' | 'CreateIndex'
>;

/**
 * Returns the allocations that a restart concerns, the newest first: those that run, of one group or of all.
 * @param group the group; empty for all
 */
export const allocationsToRestart = <A extends RestartedAllocation>(allocations: readonly A[], group: string): A[] =>
  allocations
    .filter(({ ClientStatus, DesiredStatus }) => ClientStatus === 'running' && DesiredStatus === 'run')
    .filter(({ TaskGroup }) => group === '' || TaskGroup === group)
    .toSorted((a, b) => b.CreateIndex - a.CreateIndex);

/** Divides allocations into batches. A percentage is rounded up. @param size a text of BATCH_SIZE_PATTERN */
export function batchesOf<A>(allocations: readonly A[], size: string): (readonly A[])[] {
  const number = Number.parseInt(size, 10);
  const each = size.endsWith('%') ? Math.ceil((allocations.length * number) / 100) : number;
  const batches: (readonly A[])[] = [];
  for (let from = 0; from < allocations.length; from += each) batches.push(allocations.slice(from, from + each));
  return batches;
}
