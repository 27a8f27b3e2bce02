import { findTaskGroup } from '@waybill/model';
import { checkAllocationNames } from '../../paths/allocation-names.js';
import { UnsafeNameError } from '../../paths/path-name.js';
import type { AllocationRecord } from './allocation-record.js';
import { hasLostItsDirectory, type LostDirectoryDeps, LostDirectoryError } from './lost-directory.js';

/** RestoreDecision says how the agent handles a stored allocation at its start (AG-193 to AG-199). */
export type RestoreDecision =
  /** The allocation was stored before its first task, so nothing of it is here. */
  | { readonly kind: 'forget' }
  /** Its remains are ended and removed, and the servers hear that it failed. */
  | { readonly kind: 'give-up'; readonly why: string; readonly error: Error }
  /** The allocation continues. */
  | { readonly kind: 'take-up' };

/** Decides about a stored allocation. It changes nothing. */
export async function restoreDecision(
  record: AllocationRecord,
  deps: Pick<LostDirectoryDeps, 'directories'>,
): Promise<RestoreDecision> {
  if (Object.keys(record.tasks).length === 0) return { kind: 'forget' };
  const error = nameProblemOf(record);
  if (error)
    return { kind: 'give-up', why: 'a stored allocation is not taken up again: its names are dangerous', error };
  if (!(await hasLostItsDirectory(deps, record))) return { kind: 'take-up' };
  const why = 'a stored allocation cannot be taken up again: its directory is gone';
  return { kind: 'give-up', why, error: new LostDirectoryError() };
}

/** Checks the names of an allocation that an older agent accepted without a check. */
function nameProblemOf({ alloc }: AllocationRecord): UnsafeNameError | undefined {
  const group = alloc.Job ? findTaskGroup(alloc.Job, alloc.TaskGroup) : undefined;
  try {
    if (group) checkAllocationNames(alloc, group);
    return undefined;
  } catch (error) {
    if (error instanceof UnsafeNameError) return error;
    throw error;
  }
}
