import { Refusal, errorText } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';

/** How long a replica may take to reach the state the asker has already seen. */
export const CATCH_UP_TIMEOUT_MS = 5_000;

/** Waits until this copy has the state that an asker has seen elsewhere. @throws Refusal unavailable: it stays behind */
export async function catchUp(state: ReplicatedState, index: number): Promise<void> {
  if (!(index > state.appliedIndex)) return;
  try {
    await state.waitFor(index, CATCH_UP_TIMEOUT_MS);
  } catch (error) {
    throw new Refusal('unavailable', errorText(error));
  }
}
