import { ConflictError } from '@waybill/journal';
import type { ReplicatedState } from '@waybill/replica';
import { CATCH_UP_TIMEOUT_MS } from '../allocations/catch-up.js';

/** ND-31: how often a write is decided and tried again because somebody else wrote the node in between. */
const MAX_CONFLICTS = 5;

/**
 * Runs a write that is decided on the node as it is stored, again if somebody else wrote the node meanwhile.
 * @param write decides and proposes, on the condition that the node's subject was last written at the given sequence
 * @throws ConflictError after MAX_CONFLICTS, and what `write` throws
 */
export async function writeOnNode<T>(
  state: ReplicatedState,
  nodeId: string,
  write: (expectedLastSubjectSequence: number) => Promise<T>,
): Promise<T> {
  let expected: number | undefined;
  for (let attempt = 1; ; attempt++) {
    try {
      return await write(expected ?? state.tables.nodes.get(nodeId)?.ModifyIndex ?? 0);
    } catch (error) {
      if (!(error instanceof ConflictError) || attempt > MAX_CONFLICTS) throw error;
      await state.waitFor(error.actual, CATCH_UP_TIMEOUT_MS);
      expected = error.actual;
    }
  }
}
