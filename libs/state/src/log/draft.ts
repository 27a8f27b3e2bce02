import { TXN_TYPES, type TxnPayloads, type TxnType } from './catalogue.js';
import type { Actor, Fence, TxnDraft } from './txn.js';

/** The envelope of a transaction beside its type and payload; missing fields have defaults. */
export interface DraftContext {
  /** Unix ns. */
  readonly timeNs: number;
  readonly requestId: string;
  readonly actor: Actor;
  readonly namespace?: string;
  readonly region?: string;
  readonly reason?: string;
  readonly fence?: Fence | undefined;
  readonly traceparent?: string | undefined;
  readonly stepTimes?: string | undefined;
}

/** A draft with today's schema version of its type. */
export function draftTxn<T extends TxnType>(type: T, payload: TxnPayloads[T], context: DraftContext): TxnDraft<T> {
  return {
    type,
    payload,
    timeNs: context.timeNs,
    namespace: context.namespace ?? '',
    region: context.region ?? 'global',
    actor: context.actor,
    reason: context.reason ?? '',
    requestId: context.requestId,
    fence: context.fence,
    traceparent: context.traceparent,
    stepTimes: context.stepTimes,
    schemaVersion: TXN_TYPES[type].schemaVersion,
  };
}

export const serviceActor = (service: string): Actor => ({ Kind: 'role', ID: service, Name: service });
