import { Refusal, errorText } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';

/** Longest time until a replica must reach the state that a caller has seen. */
export const CATCH_UP_TIMEOUT_MS = 5_000;

/**
 * Waits until this replica has the state that a caller has seen elsewhere. @throws Refusal unavailable if it stays
 * behind
 */
export async function catchUp(state: ReplicatedState, index: number): Promise<void> {
  if (!(index > state.appliedIndex)) return;
  try {
    await state.waitFor(index, CATCH_UP_TIMEOUT_MS);
  } catch (error) {
    throw new Refusal('unavailable', errorText(error));
  }
}
