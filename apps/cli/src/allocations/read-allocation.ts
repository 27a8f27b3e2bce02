import type { AllocListStub } from '@waybill/model';
import type { Call } from '../command-spec.js';
import type { Display } from '../terminal/display.js';
import { failed } from '../failure.js';
import { ALLOCATION, resolveUuid } from '../server/resolve-uuid.js';
import type { AllocationAnswer } from './task-sections.js';

/** An allocation, and the API client for its namespace. */
export interface ReadAllocation {
  readonly api: Call['api'];
  readonly alloc: AllocationAnswer;
}

/** Reads the allocation with this ID prefix in full (JR-992). @throws CommandFailure */
export async function readAllocation(call: Call, given: string, display: Display): Promise<ReadAllocation> {
  const kind = { ...ALLOCATION, tooShort: 'Alloc ID must contain at least two characters.' };
  return wholeAllocation(call, await resolveUuid(call.api, kind, given, display));
}

/** Reads the allocation of a list entry in full. @throws CommandFailure */
export async function wholeAllocation(
  call: Call,
  { ID, Namespace }: Pick<AllocListStub, 'ID' | 'Namespace'>,
): Promise<ReadAllocation> {
  const api = call.api.within({ namespace: Namespace });
  const { value } = await api.get<AllocationAnswer>(`/v1/allocation/${ID}`).catch((error: unknown) => {
    throw failed('querying allocation', error);
  });
  return { api, alloc: value };
}
