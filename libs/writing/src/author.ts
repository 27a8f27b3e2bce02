import type { OnBehalfOf } from '@waybill/rpc';
import { type DraftContext, type Fence, serviceActor } from '@waybill/state';

/** Who writes a transaction, and what it belongs to: the part of an envelope that does not depend on the decision. */
export type Author = Pick<DraftContext, 'actor' | 'reason' | 'fence' | 'traceparent' | 'stepTimes'> & {
  /** Of the request that is carried out, so that a copy of it changes nothing (ST-6); undefined: each write has its own. */
  readonly requestId?: string;
};

/** A service writes for itself, on any replica. */
export const asService = (name: string, traceparent?: string): Author => ({ actor: serviceActor(name), traceparent });

/** A service writes what a machine has said, for that machine. */
export const asNode = ({ ID, Name }: { readonly ID: string; readonly Name: string }, traceparent?: string): Author => ({
  actor: { Kind: 'node', ID, Name },
  traceparent,
});

/** The holder of a role writes for itself: nothing of it counts once another term has begun (EB-144, ST-15). */
export const asHolder = (fence: Fence): Author => ({ actor: serviceActor(fence.role), fence });

/** A service writes for a user. */
export const onBehalfOf = ({ Actor, Reason, RequestID }: OnBehalfOf, traceparent: string | undefined): Author => ({
  actor: Actor,
  reason: Reason,
  requestId: RequestID,
  traceparent,
});
