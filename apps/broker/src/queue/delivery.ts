import type { Evaluation } from '@waybill/model';

/** Where evaluations go that no worker could finish; only the reaper takes them out (EB-85). */
export const FAILED_QUEUE = '_failed';

/** A worker that says nothing for this long has lost its delivery (EB-80). */
export const NACK_TIMEOUT_MS = 60_000;
/** Deliveries before an evaluation counts as undoable (EB-85). */
export const DELIVERY_LIMIT = 3;
/** Delay of the first redelivery; later ones wait n-1 times the subsequent delay (EB-81). */
export const INITIAL_NACK_DELAY_MS = 1_000;
export const SUBSEQUENT_NACK_DELAY_MS = 20_000;

export interface EvalBrokerOptions {
  readonly nackTimeoutMs: number;
  readonly deliveryLimit: number;
  readonly initialNackDelayMs: number;
  readonly subsequentNackDelayMs: number;
}

export const DEFAULT_BROKER_OPTIONS: EvalBrokerOptions = {
  nackTimeoutMs: NACK_TIMEOUT_MS,
  deliveryLimit: DELIVERY_LIMIT,
  initialNackDelayMs: INITIAL_NACK_DELAY_MS,
  subsequentNackDelayMs: SUBSEQUENT_NACK_DELAY_MS,
};

/** What the broker asks the state for. */
export interface EvalRows {
  /** The row as it is now, undefined if deleted. */
  evaluation(id: string): Evaluation | undefined;
  /** Highest ModifyIndex of all evaluations of exactly this job, 0 if none (EB-67, EB-68). */
  highestEvalIndex(namespace: string, jobId: string): number;
}

/** One evaluation handed to one worker. */
export interface Delivery {
  readonly evaluation: Evaluation;
  readonly token: string;
  /** What the worker's copy of the state must have applied before it schedules (EB-67). */
  readonly waitIndex: number;
  /** Unix ns: the latest time that it waited for, or one that it supersedes (EB-56); 0: none did. */
  readonly dueNs: number;
  /** Unix ms at which it became known here (again, after a nack): the begin of the wait (EB-322). */
  readonly enqueuedAtMs: number;
}

/** Delay before the delivery after the `n`th, ms (EB-81). */
export function redeliveryDelayMs(n: number, options: EvalBrokerOptions): number {
  return n === 1 ? options.initialNackDelayMs : (n - 1) * options.subsequentNackDelayMs;
}
