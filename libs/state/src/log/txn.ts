import { NotHolderError, Refusal, type RefusalCode } from '@waybill/model';
import type { TxnPayloads, TxnType } from './catalogue.js';
import type { Role } from './role.js';

/** The author of a transaction. For audits only: never a secret (API-266). */
export interface Actor {
  readonly Kind: 'token' | 'node' | 'role' | 'anonymous';
  readonly ID: string;
  readonly Name: string;
}

/** The fence that a holder of a role puts on all its transactions. */
export interface Fence {
  readonly role: Role;
  readonly epoch: number;
}

/**
 * A transaction that has no index of the log yet: the decision, its author, reason and time. A transaction that any
 * replica may write carries no fence.
 */
export interface TxnDraft<T extends TxnType = TxnType> {
  readonly type: T;
  readonly payload: TxnPayloads[T];
  /** Wall clock of the proposer, unix nanoseconds; the only clock apply may use (ST-3). */
  readonly timeNs: number;
  readonly namespace: string;
  readonly region: string;
  readonly actor: Actor;
  /** The caller's X-Waybill-Reason, else "". */
  readonly reason: string;
  /** Unique per attempt-set: the de-duplication id in the stream and in apply (ST-6). */
  readonly requestId: string;
  readonly fence?: Fence | undefined;
  /** W3C trace context; part of the message and not of the state. */
  readonly traceparent?: string | undefined;
  /** Times of the steps before this transaction (step-times.ts); part of the message and not of the state. */
  readonly stepTimes?: string | undefined;
  readonly schemaVersion: number;
}

/** A transaction in the log. Distributes over the types, so `switch (txn.type)` narrows the payload. */
export type Txn<T extends TxnType = TxnType> = {
  [K in T]: TxnDraft<K> & {
    /** The stream sequence: never in the body, strictly increasing, never reused (ST-1). */
    readonly index: number;
  };
}[T];

/** The outcome of applying, the same in every replica. A refused or void transaction changes nothing (ST-9). */
export type Verdict =
  | { readonly kind: 'accepted'; readonly error?: string; readonly result?: unknown }
  | { readonly kind: 'noop'; readonly error?: string; readonly result?: unknown }
  | { readonly kind: 'refused'; readonly code: RefusalCode; readonly error: string }
  | { readonly kind: 'void'; readonly error: string };

/** Verdict of a transaction that was refused or void (ST-9). */
export type Rejection = Extract<Verdict, { kind: 'refused' | 'void' }>;

export const isRejected = (v: Verdict): v is Rejection => v.kind === 'refused' || v.kind === 'void';

/** The refusal that the writer of a rejected transaction gets; undefined if it was not rejected. */
export function refusalOf(verdict: Verdict): Refusal | undefined {
  if (verdict.kind === 'refused') return new Refusal(verdict.code, verdict.error);
  return verdict.kind === 'void' ? new NotHolderError(verdict.error) : undefined;
}
