import { type Follower, type Log, LogTrimmedError } from '@waybill/journal';
import { errorText, type Timers } from '@waybill/model';
import {
  type Applied,
  type Proposed,
  type ProposeOptions,
  StateMachine,
  type Tables,
  type Txn,
  type TxnDraft,
  type TxnType,
  type Verdict,
} from '@waybill/state';
import type { Logger } from '@waybill/telemetry';
import type { ReplicatedState } from './replicated-state.js';
import { IndexWaiters } from './waiters.js';

/** Verdicts kept for proposers whose acknowledgement comes after the transaction was applied. */
const RECENT_VERDICTS = 8_192;

/** How long a proposer waits until its own transaction is applied here. */
export const PROPOSE_TIMEOUT_MS = 10_000;

/** The source of a starting replica's state (Postgres). Loads tables and window into `machine`; returns their index. */
export interface SnapshotSource {
  load(machine: StateMachine): Promise<number>;
}

/** The log no longer has its beginning, and there is no snapshot to start from. A later start may find one. */
export class SnapshotNeededError extends Error {
  override readonly name = 'SnapshotNeededError';
  constructor(reason: string, options: ErrorOptions) {
    super(
      `there is no snapshot to start from, and the log no longer begins at its first transaction: ${reason}`,
      options,
    );
  }
}

export interface ReplicaOptions {
  readonly log: Log;
  /** Null: always replay from the first transaction. */
  readonly snapshots: SnapshotSource | null;
  /**
   * For a replica that keeps some tables only: the transaction types that change these tables, and that decide their
   * verdicts. `snapshots` may omit the other tables. Absent: all types.
   */
  readonly types?: ReadonlySet<TxnType>;
  readonly timers: Timers;
  readonly logger: Logger;
  /**
   * Called when the replica has stopped for good, at a transaction that it may not skip (ST-8). The process should end
   * and start anew.
   */
  readonly onFatal: (error: Error) => void;
}

/**
 * A copy of the state in memory, which follows the log.
 *
 * Modes: new → loading (snapshot, then replay) → following → stopped. `start` resolves when the replica has caught up
 * with the log's end as of the start. A lost connection to the log is no mode of its own: the follower waits and
 * continues by itself. If no snapshot is available (Postgres is down), it replays the log from the first transaction,
 * which works until the log is trimmed: then `start` throws SnapshotNeededError.
 * Limits: RECENT_VERDICTS, MAX_WAITERS. Cost: one application of each transaction, and its listeners.
 */
export class Replica implements ReplicatedState {
  private machine = new StateMachine();
  private follower: Follower | undefined;
  private readonly waiters: IndexWaiters;
  private readonly listeners = new Set<(applied: Applied) => void>();
  private readonly verdicts = new Map<number, Verdict>();
  private caughtUpOnce = false;
  private defective = 0;
  private fatal: Error | undefined;

  constructor(private readonly options: ReplicaOptions) {
    this.waiters = new IndexWaiters(options.timers);
  }

  get tables(): Tables {
    return this.machine.tables;
  }

  get appliedIndex(): number {
    return this.machine.appliedIndex;
  }

  /** Whether the replica has applied everything that was in the log when it started, and has not stopped. */
  get ready(): boolean {
    return this.caughtUpOnce && this.fatal === undefined;
  }

  /** Transactions since the start whose application failed; every replica refuses them alike. */
  get defects(): number {
    return this.defective;
  }

  /** Epoch of a role as of the applied index. */
  epochOf(role: string): number {
    return this.machine.epochOf(role);
  }

  async start(): Promise<void> {
    const failure = await this.loadSnapshot();
    try {
      this.follower = await this.options.log.follow({
        from: this.machine.appliedIndex + 1,
        after: this.machine.mark,
        types: this.options.types,
        onTxns: (batch) => this.applyAll(batch),
        onError: (error) => this.stopFor(error),
      });
      if (failure)
        this.options.logger.warn('no snapshot to start from; replaying the log from its beginning', {
          error: failure.error,
        });
      await this.follower.caughtUp;
    } catch (error) {
      if (!failure || !(error instanceof LogTrimmedError)) throw error;
      throw new SnapshotNeededError(errorText(failure.error), { cause: failure.error });
    }
    this.caughtUpOnce = true;
  }

  async stop(): Promise<void> {
    await this.follower?.stop();
    this.waiters.fail(new Error('this copy of the state has stopped'));
    this.listeners.clear();
  }

  onApplied(listener: (applied: Applied) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  waitFor(index: number, timeoutMs: number): Promise<void> {
    if (index <= this.machine.appliedIndex) return Promise.resolve();
    if (this.fatal) return Promise.reject(this.fatal);
    return this.waiters.wait(index, timeoutMs, () => this.machine.appliedIndex);
  }

  async propose(draft: TxnDraft, options: ProposeOptions = {}): Promise<Proposed> {
    const { index } = await this.options.log.publish(draft, options);
    await this.waitFor(index, PROPOSE_TIMEOUT_MS);
    return { index, verdict: this.verdictOf(index, draft.requestId) };
  }

  private verdictOf(index: number, requestId: string): Verdict {
    const recent = this.verdicts.get(index);
    if (recent) return recent;
    const seen = this.machine.requests.find(requestId);
    if (seen?.rejected) return seen.rejected;
    return { kind: 'accepted' };
  }

  /** @returns why there is none; undefined: it is loaded, or there never is one */
  private async loadSnapshot(): Promise<{ readonly error: unknown } | undefined> {
    try {
      await this.options.snapshots?.load(this.machine);
      return undefined;
    } catch (error) {
      this.machine = new StateMachine();
      return { error };
    }
  }

  private applyAll(batch: readonly Txn[]): void {
    for (const txn of batch) {
      const applied = this.machine.apply(txn);
      this.remember(applied);
      if (applied.defect) this.report(applied);
      for (const listener of this.listeners) this.tell(listener, applied);
    }
    this.waiters.wake(this.machine.appliedIndex);
  }

  private report({ txn, index, defect: error }: Applied): void {
    this.defective += 1;
    this.options.logger.error('a transaction could not be applied and is refused in every copy of the state', {
      index,
      type: txn.type,
      requestId: txn.requestId,
      error,
    });
  }

  /** Calls a listener. Its failure must not stop the replica, on which others depend. */
  private tell(listener: (applied: Applied) => void, applied: Applied): void {
    try {
      listener(applied);
    } catch (error) {
      this.options.logger.error('a follower of the state failed', { error, index: applied.index });
    }
  }

  private remember(applied: Applied): void {
    this.verdicts.set(applied.index, applied.verdict);
    if (this.verdicts.size > RECENT_VERDICTS) this.verdicts.delete(applied.index - RECENT_VERDICTS);
  }

  private stopFor(error: Error): void {
    this.fatal = error;
    this.waiters.fail(error);
    this.options.onFatal(error);
  }
}
