import { type AskedBy, WriteRejectedError } from '@waybill/lease';
import { type OnBehalfOf, type RpcContext, RpcError } from '@waybill/rpc';
import { InvalidVolumeError } from '@waybill/state';
import {
  AllocationRevivedError,
  NotHolderError,
  PermissionDeniedError,
  VolumeRefusedError,
  VolumeStepError,
} from './errors.js';

/** Errors whose text is the answer; clients know them by it. */
const REFUSALS = [
  AllocationRevivedError,
  VolumeRefusedError,
  VolumeStepError,
  WriteRejectedError,
  InvalidVolumeError,
] as const;

/** How a failure looks to the asker: the one place that decides it. @throws RpcError, and what nobody foresaw */
export async function answered<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NotHolderError) throw new RpcError('unavailable', error.message);
    if (error instanceof PermissionDeniedError) throw new RpcError('forbidden', error.message);
    for (const refusal of REFUSALS) if (error instanceof refusal) throw new RpcError('conflict', error.message);
    throw error;
  }
}

/** On whose behalf, in whose trace. */
export function askedBy(request: { readonly For: OnBehalfOf }, { traceparent }: RpcContext): AskedBy {
  const { Actor, Reason, RequestID } = request.For;
  return { actor: Actor, reason: Reason, requestId: RequestID, traceparent };
}
