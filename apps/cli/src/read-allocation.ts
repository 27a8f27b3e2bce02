import type { Call } from './command-spec.js';
import type { Display } from './display.js';
import { failed } from './failure.js';
import { ALLOCATION, resolveUuid } from './resolve-uuid.js';
import type { AllocationAnswer } from './task-sections.js';

/** The allocation whose ID begins so (JR-992), in full, and the API within its namespace. @throws CommandFailure */
export async function readAllocation(
  call: Call,
  given: string,
  display: Display,
): Promise<{ readonly api: Call['api']; readonly alloc: AllocationAnswer }> {
  const kind = { ...ALLOCATION, tooShort: 'Alloc ID must contain at least two characters.' };
  const stub = await resolveUuid(call.api, kind, given, display);
  const api = call.api.within({ namespace: stub.Namespace });
  const { value } = await api.get<AllocationAnswer>(`/v1/allocation/${stub.ID}`).catch((error: unknown) => {
    throw failed('querying allocation', error);
  });
  return { api, alloc: value };
}
