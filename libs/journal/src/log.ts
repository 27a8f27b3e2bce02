import type { LogMark, Txn, TxnDraft, TxnType } from '@waybill/state';

/**
 * The result of a publish. `duplicate`: the log already held this RequestID; `index` is that of the first copy (ST-6).
 */
export interface Published {
  readonly index: number;
  readonly duplicate: boolean;
}

export interface PublishOptions {
  /** Publish only if the draft's subject still ends at this index; 0: nothing was ever written on it. */
  readonly expectedLastSubjectSequence?: number | undefined;
  /** Milliseconds until `LogUnavailableError`. */
  readonly deadlineMs?: number | undefined;
}

export interface Delivery {
  /**
   * False while the follower still reads transactions that were in the log when it began; true from then on (ST-11).
   */
  readonly live: boolean;
}

export interface FollowOptions {
  /** First index to deliver. */
  readonly from: number;
  /** The transaction at `from - 1`, if it is known: the log must have it (ST-1). */
  readonly after?: LogMark | undefined;
  /** The types that the reader needs; the others come as `Ignore`, and their bodies are not read. Absent: all types. */
  readonly types?: ReadonlySet<TxnType> | undefined;
  /**
   * Gets every transaction from `from` on, in order, exactly once, without a gap (ST-7), in batches of at least one.
   * The next batch waits until the promise is settled: a slow reader delays only itself. If it throws, the follower
   * stops and passes the error to `onError`.
   */
  onTxns(batch: readonly Txn[], delivery: Delivery): void | Promise<void>;
  /**
   * Called when the follower has stopped for good: see `isFatalLogError`, or the error that `onTxns` threw. A lost
   * connection is no error here: the follower continues by itself when the log is back.
   */
  onError(error: Error): void;
}

export interface Follower {
  /** Highest index that `onTxns` has processed; `from - 1` before the first. */
  readonly index: number;
  /**
   * Resolves with the last index of the log at the beginning, once it is delivered. Rejects if the follower stops
   * first.
   */
  readonly caughtUp: Promise<number>;
  /** Stops reading. After it has resolved, `onTxns` is not called any more. */
  stop(): Promise<void>;
}

/** The transaction log as the layers above see it: NATS JetStream (`Journal`) or a simulation. */
export interface Log {
  /**
   * Appends one transaction and resolves when the log has stored it durably. @throws ConflictError, TooLargeError,
   * LogUnavailableError, LogOverloadedError
   */
  publish(draft: TxnDraft, options?: PublishOptions): Promise<Published>;
  follow(options: FollowOptions): Promise<Follower>;
  /** Index of the last transaction on exactly this subject, 0 if there is none. @throws LogUnavailableError */
  lastSequence(subject: string): Promise<number>;
}
