import { type Journal, type LogDivergedError, SYSTEM_SUBJECT } from '@waybill/journal';
import { type CancelTimer, type Timers } from '@waybill/model';
import { isSameMark, type LogMark } from '@waybill/state';
import type { Logger } from '@waybill/telemetry';

/** Milliseconds between two queries whether an operator has decided, while the log has diverged. */
export const SETTLED_POLL_MS = 500;

/** Index of a log's initialisation (ST-2), which is not a restore. */
const FIRST_INDEX = 1;

/** An operator has decided for another history than the one in this process's memory. */
export class HistoryChangedError extends Error {
  override readonly name = 'HistoryChangedError';
  constructor() {
    super('an operator has decided which history of the log counts: the services start anew');
  }
}

/** The history that PostgreSQL has followed. */
export interface RecordedHistory {
  /** Returns the last projected transaction. */
  mark(): Promise<LogMark | undefined>;
}

export interface DivergenceDeps {
  readonly journal: Pick<Journal, 'history' | 'lastSequence' | 'markAt'>;
  /** Absent without PostgreSQL. Then only a new process can continue. */
  readonly recorded: RecordedHistory | undefined;
  readonly timers: Timers;
  readonly logger: Logger;
  /**
   * Returns the index of the last restore in the copies of the state in this process, or undefined if there is no copy.
   * The copies have read lost transactions, so they continue only with a new history.
   */
  readonly restoredIndexHere: () => number | undefined;
  readonly say?: ((line: string) => void) | undefined;
}

/**
 * Detects that the log is not the one that this process knows (ST-1), logs it once, and waits until an operator has
 * decided (`waybill operator log adopt` or `restore`).
 *
 * following → diverged → following. While diverged, the log's history refuses every write. That ends when PostgreSQL
 * and the log again have the same transaction at PostgreSQL's index. If copies of the state in this process have read
 * lost transactions, the log must also have a restore that they do not know, because a new history starts with it and
 * agents and clients are notified. Cost while diverged: a statement and two requests per SETTLED_POLL_MS.
 */
export class Divergence {
  private settling: Promise<void> | undefined;
  private readonly off: () => void;
  private stopped = false;
  private wake: (() => void) | undefined;

  /** @param onSettled called with whether copies of the state here belong to the lost history */
  constructor(
    private readonly deps: DivergenceDeps,
    private readonly onSettled: (mustStartAnew: boolean) => void,
  ) {
    this.off = deps.journal.history.onDivergence((error) => this.begin(error));
  }

  /** Resolves when the log is known to be the right one, or an operator has decided. */
  async settled(): Promise<void> {
    await this.settling;
  }

  /** Whether the process is ending, so that no code waits for a decision any more. */
  get isStopped(): boolean {
    return this.stopped;
  }

  stop(): void {
    this.stopped = true;
    this.off();
    this.wake?.();
  }

  private begin(error: LogDivergedError): void {
    const { logger, say, restoredIndexHere } = this.deps;
    logger.error('the log is not the one that was read; nothing is decided here', { error: error.message });
    say?.(error.message);
    this.settling ??= this.settle(restoredIndexHere()).finally(() => (this.settling = undefined));
  }

  private async settle(restoredIndex: number | undefined): Promise<void> {
    const { journal, logger } = this.deps;
    while (!this.isStopped) {
      await this.pause();
      const mark = await this.agreed(restoredIndex).catch(() => undefined);
      if (!mark || this.isStopped) continue;
      logger.info('the history of the log is decided', { index: mark.index });
      journal.history.accept(mark);
      this.onSettled(restoredIndex !== undefined);
      return;
    }
  }

  /** Returns the transaction on which log and PostgreSQL agree, or undefined if they do not agree yet. */
  private async agreed(restoredIndex: number | undefined): Promise<LogMark | undefined> {
    const { journal, recorded } = this.deps;
    if (restoredIndex !== undefined) {
      const known = Math.max(FIRST_INDEX, restoredIndex);
      if ((await journal.lastSequence(SYSTEM_SUBJECT)) <= known) return undefined;
    }
    const mark = await recorded?.mark();
    const found = mark && (await journal.markAt(mark.index));
    return found && isSameMark(mark, found) ? mark : undefined;
  }

  private pause(): Promise<void> {
    return new Promise((resolve) => {
      const cancel: CancelTimer = this.deps.timers.after(SETTLED_POLL_MS, resolve);
      this.wake = () => {
        cancel();
        resolve();
      };
    });
  }
}
