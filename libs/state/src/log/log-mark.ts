import type { Txn } from './txn.js';

/**
 * The identity of a log's history up to an index: the transaction at that index. Its request ID and its time
 * distinguish it from every other one. A log grows at its end only, so two logs with the same transaction at an index
 * have the same transactions below it, and no running digest is needed.
 */
export interface LogMark {
  readonly index: number;
  readonly requestId: string;
  /** Unix nanoseconds, the transaction's own time. */
  readonly timeNs: number;
}

export const markOf = ({ index, requestId, timeNs }: Txn): LogMark => ({ index, requestId, timeNs });

/** Whether both marks identify the same transaction of the same log. */
export const isSameMark = (a: LogMark, b: LogMark): boolean =>
  a.index === b.index && a.requestId === b.requestId && a.timeNs === b.timeNs;
