/** The log did not answer within the deadline (not reachable, no leader, disk full). The caller may try again. */
export class LogUnavailableError extends Error {
  override readonly name = 'LogUnavailableError';
  /**
   * Of a write: it was sent, and nobody said what became of it. False: it is certainly not in the log.
   * The same request sent again is written once.
   */
  readonly mayBeWritten: boolean;

  constructor(reason: string, options: ErrorOptions & { readonly mayBeWritten?: boolean } = {}) {
    super(`the transaction log is not available: ${reason}`, options);
    this.mayBeWritten = options.mayBeWritten ?? false;
  }
}

/** More publishes wait for the log than the queue's limit: slow down and try again. */
export class LogOverloadedError extends Error {
  override readonly name = 'LogOverloadedError';
  constructor(readonly limit: number) {
    super(`the transaction log is overloaded: ${limit} writes are waiting for it already`);
  }
}

/** The subject's last sequence is not the expected one: somebody else wrote this aggregate. Nothing was published. */
export class ConflictError extends Error {
  override readonly name = 'ConflictError';
  /** `actual`: the last sequence the subject has, 0 for none. */
  constructor(
    readonly subject: string,
    readonly expected: number,
    readonly actual: number,
  ) {
    super(`conflict on ${subject}: expected last sequence ${expected}, found ${actual}`);
  }
}

/** The transaction is larger than a message of the log may be (ST-14). Thrown before anything is sent. */
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

/** The log no longer holds the index asked for: the reader has to start from a newer snapshot. */
export class LogTrimmedError extends Error {
  override readonly name = 'LogTrimmedError';
  constructor(
    readonly from: number,
    readonly first: number,
  ) {
    super(`the log starts at index ${first}; index ${from} was trimmed: start from a newer snapshot`);
  }
}

/** What an operator does when state and log no longer belong together. */
export const DIVERGENCE_ADVICE = 'nothing is decided until an operator does: see `waybill operator log status`';

/** The log is not the one that was read: state and log no longer belong together (ST-1). Only an operator can decide. */
export abstract class LogDivergedError extends Error {
  /** The last index that was read from the log before. */
  abstract readonly applied: number;
}

/**
 * The log's last index is below what this reader has already applied: it lost its end in a power cut, or the stream was
 * deleted and created again, or restored from an older copy.
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

/** An index is missing in the middle of the log. It must not be skipped (ST-7). */
export class LogGapError extends Error {
  override readonly name = 'LogGapError';
  constructor(
    readonly expected: number,
    readonly found: number,
  ) {
    super(`the log has no index ${expected}: the next one is ${found}`);
  }
}

/** A message that this version cannot decode (ST-8). It must not be skipped, or replicas would differ. */
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

/** A type this version does not know and may not skip (ST-8): upgrade before going on. */
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

/** The errors after which a follower stops for good: trying again cannot help, only an operator can. */
export const isFatalLogError = (e: unknown): boolean =>
  e instanceof LogTrimmedError ||
  e instanceof LogDivergedError ||
  e instanceof LogGapError ||
  e instanceof BadTxnError ||
  e instanceof UnknownTxnError;
