import type { OnBehalfOf } from '@waybill/rpc';
import { type DraftContext, type Fence, serviceActor } from '@waybill/state';

/** The author of a transaction: the members of its envelope that do not depend on the decision. */
export type Author = Pick<DraftContext, 'actor' | 'reason' | 'fence' | 'traceparent' | 'stepTimes'> & {
  /** ID of the user's request: a second copy of it changes nothing (ST-6). Undefined: each write gets an ID of its own. */
  readonly requestId?: string;
};

/** A service writes for itself, on any replica. */
export const asService = (name: string, traceparent?: string): Author => ({ actor: serviceActor(name), traceparent });

/** A service writes a machine's report in the name of the machine. */
export const asNode = ({ ID, Name }: { readonly ID: string; readonly Name: string }, traceparent?: string): Author => ({
  actor: { Kind: 'node', ID, Name },
  traceparent,
});

/** The holder of a role writes for itself: its transactions are void once another term has begun (EB-144, ST-15). */
export const asHolder = (fence: Fence): Author => ({ actor: serviceActor(fence.role), fence });

/** A service writes for a user. */
export const onBehalfOf = ({ Actor, Reason, RequestID }: OnBehalfOf, traceparent: string | undefined): Author => ({
  actor: Actor,
  reason: Reason,
  requestId: RequestID,
  traceparent,
});
