import type { Evaluation } from '@waybill/model';
import type { DequeueResponse } from '@waybill/rpc';

/** A delivery of the broker: an evaluation, and the token that proves the right to work on it. */
export type Delivery = Omit<DequeueResponse, 'Eval'> & { readonly Eval: Evaluation };

export const deliveryOf = (answer: DequeueResponse): Delivery | undefined =>
  answer.Eval ? { ...answer, Eval: answer.Eval } : undefined;

/** The index that this copy of the state needs before it schedules the evaluation (EB-197, GC-5). */
export const indexNeededBy = ({ WaitIndex, Eval }: Delivery): number =>
  Math.max(WaitIndex, Eval.ModifyIndex, Eval.SnapshotIndex);

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
