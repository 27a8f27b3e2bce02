import { type Journal, type LogDivergedError, SYSTEM_SUBJECT } from '@waybill/journal';
import { type CancelTimer, type Timers } from '@waybill/model';
import { isSameMark, type LogMark } from '@waybill/state';
import type { Logger } from '@waybill/telemetry';

/** While the log is not the one that is known, Postgres is asked this often whether that was decided, milliseconds. */
export const SETTLED_POLL_MS = 500;

/** A log begins with its initialisation (ST-2), which is no restore. */
const FIRST_INDEX = 1;

/** An operator has decided which history counts: what this process has in memory is of the other one. */
export class HistoryChangedError extends Error {
  override readonly name = 'HistoryChangedError';
  constructor() {
    super('an operator has decided which history of the log counts: the services start anew');
  }
}

/** What Postgres says of the history it follows. */
export interface RecordedHistory {
  /** The transaction that was projected last. */
  mark(): Promise<LogMark | undefined>;
}

export interface DivergenceDeps {
  readonly journal: Pick<Journal, 'history' | 'lastSequence' | 'markAt'>;
  /** Absent: there is no Postgres; then only a new process goes on. */
  readonly recorded: RecordedHistory | undefined;
  readonly timers: Timers;
  readonly logger: Logger;
  /**
   * Of the copies of the state in this process, the last restore that they know; undefined: none has been read. They have
   * read transactions that are lost, so they go on only with a history that begins anew.
   */
  readonly restoredIndexHere: () => number | undefined;
  readonly say?: ((line: string) => void) | undefined;
}

/**
 * Watches for the moment at which the log turns out to be another one than this process knows (ST-1), says so once, and
 * waits until an operator has decided (`waybill operator log adopt` or `restore`).
 *
 * following → diverged → following. Diverged: the log's history refuses every write. It is over when Postgres and the log
 * have the same transaction at Postgres' index again, and, if copies of the state here have read what is lost, when the
 * log has a restore that they do not know: a history begins with it, and agents and clients are told.
 * Cost while diverged: a statement and two requests per SETTLED_POLL_MS.
 */
export class Divergence {
  private settling: Promise<void> | undefined;
  private readonly off: () => void;
  private stopped = false;
  private wake: (() => void) | undefined;

  /** @param onSettled with whether copies of the state here are of the lost history */
  constructor(
    private readonly deps: DivergenceDeps,
    private readonly onSettled: (mustStartAnew: boolean) => void,
  ) {
    this.off = deps.journal.history.onDivergence((error) => this.begin(error));
  }

  /** Resolves when the log is the one that is known, or is known to be another and that was decided. */
  async settled(): Promise<void> {
    await this.settling;
  }

  /** The process ends: nobody waits for a decision any more. */
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

  /** What log and Postgres agree on; undefined: they do not yet. */
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
