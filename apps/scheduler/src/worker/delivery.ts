import type { Evaluation } from '@waybill/model';
import type { DequeueResponse } from '@waybill/rpc';

/** What the broker has handed out: an evaluation, and the token in whose name it is worked on. */
export type Delivery = Omit<DequeueResponse, 'Eval'> & { readonly Eval: Evaluation };

export const deliveryOf = (answer: DequeueResponse): Delivery | undefined =>
  answer.Eval ? { ...answer, Eval: answer.Eval } : undefined;

/** How far a copy of the state must be before the evaluation means anything to it (EB-197, GC-5). */
export const indexNeededBy = ({ WaitIndex, Eval }: Delivery): number =>
  Math.max(WaitIndex, Eval.ModifyIndex, Eval.SnapshotIndex);

/** The span of the work on a delivery, in the trace of what caused it. */
export const spanOf = ({ Eval, Traceparent }: Delivery) => ({
  traceparent: Traceparent ?? undefined,
  attributes: {
    'eval.id': Eval.ID,
    'eval.type': Eval.Type,
    'eval.triggered_by': Eval.TriggeredBy,
    'job.id': Eval.JobID,
  },
});
