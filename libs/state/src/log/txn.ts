import { NotHolderError, Refusal, type RefusalCode } from '@waybill/model';
import type { TxnPayloads, TxnType } from './catalogue.js';
import type { Role } from './role.js';

/** Who caused a transaction. Audit only: never a secret (API-266). */
export interface Actor {
  readonly Kind: 'token' | 'node' | 'role' | 'anonymous';
  readonly ID: string;
  readonly Name: string;
}

/** What a holder of a role puts on everything it writes as such. */
export interface Fence {
  readonly role: Role;
  readonly epoch: number;
}

/**
 * A transaction before the log has given it an index: what was decided, by whom, why, and when.
 * A plain write that any replica may make carries no fence.
 */
export interface TxnDraft<T extends TxnType = TxnType> {
  readonly type: T;
  readonly payload: TxnPayloads[T];
  /** Wall clock of the proposer, unix nanoseconds; the only clock apply may use (ST-3). */
  readonly timeNs: number;
  readonly namespace: string;
  readonly region: string;
  readonly actor: Actor;
  /** What the caller gave as X-Waybill-Reason, else "". */
  readonly reason: string;
  /** Unique per attempt-set: the de-duplication id in the stream and in apply (ST-6). */
  readonly requestId: string;
  readonly fence?: Fence | undefined;
  /** W3C trace context; travels with the message, is no part of state. */
  readonly traceparent?: string | undefined;
  /** What the steps that led here took (step-times.ts); travels with the message, is no part of state. */
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

/** What a transaction that changed nothing was told (ST-9). */
export type Rejection = Extract<Verdict, { kind: 'refused' | 'void' }>;

export const isRejected = (v: Verdict): v is Rejection => v.kind === 'refused' || v.kind === 'void';

/** What its writer is told of a transaction that was rejected; undefined: it was not. */
export function refusalOf(verdict: Verdict): Refusal | undefined {
  if (verdict.kind === 'refused') return new Refusal(verdict.code, verdict.error);
  return verdict.kind === 'void' ? new NotHolderError(verdict.error) : undefined;
}
