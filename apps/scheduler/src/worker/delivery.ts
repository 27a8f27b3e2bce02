import type { Evaluation } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import type { DequeueResponse } from '@waybill/rpc';

/** A delivery of the broker: an evaluation, and the token that proves the right to work on it. */
export type Delivery = Omit<DequeueResponse, 'Eval'> & { readonly Eval: Evaluation };

export const deliveryOf = (answer: DequeueResponse): Delivery | undefined =>
  answer.Eval ? { ...answer, Eval: answer.Eval } : undefined;

/** The index that this copy of the state needs before it schedules the evaluation (EB-197, GC-5). */
export const indexNeededBy = ({ WaitIndex, Lease, Eval }: Delivery): number =>
  Math.max(WaitIndex, Lease?.Index ?? 0, Eval.ModifyIndex, Eval.SnapshotIndex);

/**
 * This copy of the state does not have the term of the broker that delivered. It follows a log that has lost its end,
 * and has not noticed yet, or the term is over.
 */
export class OtherTermError extends Error {
  override readonly name = 'OtherTermError';
  constructor() {
    super('this copy of the state does not have the term of the broker that delivered');
  }
}

/**
 * Waits until this copy of the state shows all that the delivery may depend on (EB-197).
 * @throws OtherTermError; an error if the index is not reached in time
 */
export async function reachDelivery(
  state: Pick<ReplicatedState, 'tables' | 'waitFor'>,
  delivery: Delivery,
  timeoutMs: number,
): Promise<void> {
  await state.waitFor(indexNeededBy(delivery), timeoutMs);
  const { Lease } = delivery;
  const known = state.tables.leases.get('broker');
  if (Lease && (known?.Epoch !== Lease.Epoch || known.ModifyIndex !== Lease.Index)) throw new OtherTermError();
}

/** The span of the work on a delivery, in the trace of its cause. */
export const spanOf = ({ Eval, Traceparent }: Delivery) => ({
  traceparent: Traceparent ?? undefined,
  attributes: {
    'eval.id': Eval.ID,
    'eval.type': Eval.Type,
    'eval.triggered_by': Eval.TriggeredBy,
    'job.id': Eval.JobID,
  },
});
