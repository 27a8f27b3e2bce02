/**
 * The log did not answer within the deadline (unreachable, no leader, or the disk is full). The caller may try again.
 */
export class LogUnavailableError extends Error {
  override readonly name = 'LogUnavailableError';
  /**
   * Whether a write was sent and its outcome is unknown. False: it is certainly not in the log. If the same request is
   * sent again, it is written once.
   */
  readonly mayBeWritten: boolean;
  /** Whether NATS refuses what it was asked for, so that asking again does not help. */
  readonly isRefused: boolean;

  constructor(
    reason: string,
    options: ErrorOptions & { readonly mayBeWritten?: boolean; readonly isRefused?: boolean } = {},
  ) {
    super(`the transaction log is not available: ${reason}`, options);
    this.mayBeWritten = options.mayBeWritten ?? false;
    this.isRefused = options.isRefused ?? false;
  }
}

/** More publishes wait for the log than the queue may hold. The caller should slow down and try again. */
export class LogOverloadedError extends Error {
  override readonly name = 'LogOverloadedError';
  constructor(readonly limit: number) {
    super(`the transaction log is overloaded: ${limit} writes are waiting for it already`);
  }
}

/** The subject's last sequence is not the expected one: another writer wrote this aggregate. Nothing was published. */
export class ConflictError extends Error {
  override readonly name = 'ConflictError';
  /** `actual`: last sequence of the subject, 0 if there is none. */
  constructor(
    readonly subject: string,
    readonly expected: number,
    readonly actual: number,
  ) {
    super(`conflict on ${subject}: expected last sequence ${expected}, found ${actual}`);
  }
}

/** The transaction exceeds the size limit of a message of the log (ST-14). Thrown before anything is sent. */
export class TooLargeError extends Error {
  override readonly name = 'TooLargeError';
  constructor(
    readonly type: string,
    readonly bytes: number,
    readonly limitBytes: number,
  ) {
    super(`transaction ${type} of ${bytes} bytes exceeds the log's limit of ${limitBytes} bytes`);
  }
}

/** The log no longer holds the requested index: the reader has to start from a newer snapshot. */
export class LogTrimmedError extends Error {
  override readonly name = 'LogTrimmedError';
  constructor(
    readonly from: number,
    readonly first: number,
  ) {
    super(`the log starts at index ${first}; index ${from} was trimmed: start from a newer snapshot`);
  }
}

/** What an operator must do when state and log do not belong together. */
export const DIVERGENCE_ADVICE = 'nothing is decided until an operator does: see `waybill operator log status`';

/**
 * The log is not the one that was read before: state and log do not belong together (ST-1). Only an operator can
 * decide.
 */
export abstract class LogDivergedError extends Error {
  /** The last index that was read from the previous log. */
  abstract readonly applied: number;
}

/**
 * The log's last index is below the index that this reader has applied: it lost its end in a power cut, or the stream
 * was deleted and created again, or restored from an older copy.
 */
export class LogRewoundError extends LogDivergedError {
  override readonly name = 'LogRewoundError';
  constructor(
    readonly applied: number,
    readonly last: number,
  ) {
    super(
      `the log ends at index ${last} but index ${applied} was already read from it: it is not the same log; ${DIVERGENCE_ADVICE}`,
    );
  }
}

/** The log has another transaction at an index that this reader has read: it lost its end and has grown again since. */
export class LogReplacedError extends LogDivergedError {
  override readonly name = 'LogReplacedError';
  constructor(
    readonly applied: number,
    readonly expected: string,
    readonly found: string,
  ) {
    super(
      `the log has another transaction at index ${applied}, request ${found} where ${expected} was read: it is not the same log; ${DIVERGENCE_ADVICE}`,
    );
  }
}

/** EVENTS has the frame of a transaction that the log has not: the log lost its end, and only EVENTS had seen it. */
export class FrameOfLostTxnError extends LogDivergedError {
  override readonly name = 'FrameOfLostTxnError';
  constructor(readonly applied: number) {
    super(
      `the event stream has a frame of another transaction at index ${applied}: it is not the same log; ${DIVERGENCE_ADVICE}`,
    );
  }
}

/** An index is missing in the middle of the log. A reader must not skip it (ST-7). */
export class LogGapError extends Error {
  override readonly name = 'LogGapError';
  constructor(
    readonly expected: number,
    readonly found: number,
  ) {
    super(`the log has no index ${expected}: the next one is ${found}`);
  }
}

/** This version cannot decode a message (ST-8). A reader must not skip it, or replicas would differ. */
export class BadTxnError extends Error {
  override readonly name = 'BadTxnError';
  constructor(
    readonly index: number,
    reason: string,
    options?: ErrorOptions,
  ) {
    super(`transaction ${index} cannot be decoded: ${reason}`, options);
  }
}

/** This version does not know a transaction type that it may not skip (ST-8): upgrade before continuing. */
export class UnknownTxnError extends Error {
  override readonly name = 'UnknownTxnError';
  constructor(
    readonly index: number,
    readonly number: number,
    readonly typeName: string,
  ) {
    super(`transaction ${index} has the unknown type ${number} (${typeName}): a newer version of Waybill is needed`);
  }
}

/** Whether a follower stops for good after this error: only an operator can help. */
export const isFatalLogError = (e: unknown): boolean =>
  e instanceof LogTrimmedError ||
  e instanceof LogDivergedError ||
  e instanceof LogGapError ||
  e instanceof BadTxnError ||
  e instanceof UnknownTxnError;
