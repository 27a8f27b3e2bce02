import type { Txn } from './txn.js';

/**
 * The identity of a log's history up to an index: which transaction is there. Its request id and the time at which it was
 * decided tell it from any other. A log only grows at its end, so two logs that have the same transaction at an index have
 * the same ones below it, and no running digest is needed.
 */
export interface LogMark {
  readonly index: number;
  readonly requestId: string;
  /** Unix nanoseconds, the transaction's own time. */
  readonly timeNs: number;
}

export const markOf = ({ index, requestId, timeNs }: Txn): LogMark => ({ index, requestId, timeNs });

/** Whether both are about the same transaction of the same log. */
export const isSameMark = (a: LogMark, b: LogMark): boolean =>
  a.index === b.index && a.requestId === b.requestId && a.timeNs === b.timeNs;
