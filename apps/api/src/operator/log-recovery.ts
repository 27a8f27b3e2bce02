import type { Author, TransactionWriter } from '@waybill/writing';
import { conflict } from '../http/api-error.js';
import type { Journal, OpenedArchive } from '@waybill/journal';
import type { FrameMark, LoggedTxn, RecordedMarks, Rewound, TakenArchive } from '@waybill/projection';
import { type Applied, eventsOf, OWN_STATE, StateMachine, type TableRows } from '@waybill/state';
import { replay } from '@waybill/replica';
import type { Logger } from '@waybill/telemetry';
import type { Requester } from '../http/requester.js';
import { commonIndex } from './log-comparison.js';
import { machineOf } from './archived-state.js';

/** The largest number of lost transactions that an answer names. The others are only counted. */
export const MAX_LOST_NAMED = 500;
/**
 * The number of indexes that are skipped beyond the last one known to be lost. A service may have read some that never
 * reached Postgres, and no index may be assigned twice (ST-1). One service may have as many in flight.
 */
export const INDEXES_PASSED_OVER = 256;
/** The number of transactions for skipped indexes that are in flight at once. */
const PASSED_OVER_AT_ONCE = 200;
/** The largest number of attempts. The log may grow while it is read, and is then read further. */
const MAX_ATTEMPTS = 5;

/** LogComparison says how the log and Postgres differ. */
export interface LogComparison {
  /** The first and the last index of the log. */
  readonly log: { readonly first: number; readonly last: number };
  /** Postgres' index. */
  readonly applied: number;
  /** The last index at which both have the same transaction. */
  readonly common: number;
  /** The index of the newest frame of events; 0 if there is none. */
  readonly events: number;
  /** The reason why this process does not write. It is undefined if the log is the one that it knows. */
  readonly divergence: string | undefined;
  /** The index of the restore with which the log's present history began; 0 if it is the first history. */
  readonly historyIndex: number;
  /** The transactions that Postgres has and the log does not, newest first, at most MAX_LOST_NAMED. */
  readonly lost: readonly LoggedTxn[];
  readonly lostCount: number;
}

/** Recovered is the result of a decision. */
export interface Recovered {
  /** The index of the transaction with which the new history begins. */
  readonly index: number;
  readonly found: LogComparison;
}

/** DecidedLog has the parts of a journal with which a history is decided. */
export type DecidedLog = Pick<Journal, 'bounds' | 'markAt' | 'follow' | 'publish' | 'publishAt' | 'close'> & {
  readonly archives: Pick<Journal['archives'], 'put'>;
};

export interface LogRecoveryDeps {
  /**
   * Opens a journal that does not compare the log with a known one, so it writes to any log. Only an operator's
   * decision about the history may use it. The caller closes it.
   */
  readonly openJournal: () => DecidedLog;
  readonly marks: () => Promise<RecordedMarks>;
  readonly lostAbove: (index: number, limit: number) => Promise<readonly LoggedTxn[]>;
  readonly restoredIndex: () => Promise<number>;
  readonly leases: () => Promise<readonly TableRows['leases'][]>;
  readonly rewind: (rewound: Rewound) => Promise<void>;
  readonly events: {
    newest(): Promise<FrameMark | undefined>;
    removeAbove(index: number): Promise<void>;
  };
  readonly pack: (
    machine: StateMachine,
  ) => Promise<Pick<TakenArchive, 'bytes'> & { readonly meta: { readonly Index: number } }>;
  /** @throws BadArchiveError, BadRowsError */
  readonly open: (bytes: Uint8Array) => Promise<OpenedArchive>;
  readonly divergence: () => Error | undefined;
  readonly writer: Pick<TransactionWriter, 'draft'>;
  readonly newId: () => string;
  readonly logger: Logger;
}

/**
 * LogRecovery carries out an operator's decision when the log is not the one that Postgres and the services have read
 * (ST-1).
 *
 * `adopt`: the log counts. Postgres and EVENTS go back to what both have in common. The lost indexes are skipped, so
 * that no index stands for two transactions. A restore of the log's own state begins a new history, which services,
 * agents and clients learn as with any restore (OP-46, OP-47). Services that never read the lost transactions may write
 * meanwhile, and their writes count.
 * `restore`: an archive counts. The steps are the same with the archive's state. It is for a log whose beginning was
 * trimmed.
 *
 * Every step can be repeated: after a crash the same command continues.
 * Cost: it reads the log from its first transaction, and holds two copies of the state in memory.
 */
export class LogRecovery {
  constructor(private readonly deps: LogRecoveryDeps) {}

  async status(): Promise<LogComparison> {
    return this.withJournal((journal) => this.compareLog(journal));
  }

  /** @throws Refusal conflict if the log does not begin with its first transaction */
  async adopt(requester: Requester): Promise<Recovered> {
    return this.withJournal(async (journal) => {
      const found = await this.compareLog(journal);
      if (found.log.first > 1)
        throw conflict(
          `the log begins at index ${found.log.first}: what it was before cannot be read from it. ` +
            'Take an archive: waybill operator log restore FILE',
        );
      await this.skipIndexes(journal, found, requester);
      if (found.common < found.applied) {
        const machine = new StateMachine();
        let framed = 0;
        const recordFramed = async (applied: readonly Applied[]): Promise<void> => {
          framed = applied.findLast(hasFrame)?.index ?? framed;
        };
        await replay(journal, machine, found.common, { take: recordFramed });
        await this.deps.rewind({ machine, keepsHistoryTo: found.common, framed });
      }
      await this.removeLostFrames(journal, found);
      const reason = `the log was adopted: ${found.lostCount} transactions behind index ${found.common} are lost`;
      const { index } = await journal.publish(
        this.deps.writer.draft({ type: 'StateRestore', payload: OWN_STATE }, authorBecause(requester, reason)),
      );
      this.deps.logger.warn('a new history of the log begins', { index, reason });
      return { index, found };
    });
  }

  /** @throws Refusal conflict, BadArchiveError, BadRowsError */
  async restore(bytes: Uint8Array, requester: Requester): Promise<Recovered> {
    const { index: archived, tables } = await this.deps.open(bytes);
    return this.withJournal(async (journal) => {
      const found = await this.compareLog(journal);
      await this.skipIndexes(journal, found, requester, archived);
      const last = (await journal.bounds()).last;
      const machine = machineOf(tables, await this.deps.leases(), last - 1);
      const applied = await replay(journal, machine, last);
      const keepsHistoryTo = Math.min(found.common, last - 1);
      await this.deps.rewind({ machine, keepsHistoryTo, txns: applied ? [applied] : [] });
      await this.deps.events.removeAbove(found.common);
      const reason = `an archive of index ${archived} was restored: ${found.lostCount} transactions behind index ${found.common} are lost`;
      return { index: await this.restoreFrom(journal, machine, requester, reason), found };
    });
  }

  private async compareLog(journal: DecidedLog): Promise<LogComparison> {
    const { deps } = this;
    // Postgres is read first: what is written and projected between the two reads would otherwise count as lost.
    const recorded = await deps.marks();
    const log = await journal.bounds();
    const common = await commonIndex(recorded, { ...log, markAt: (index) => journal.markAt(index) });
    const lostCount = Math.max(0, recorded.last - common);
    return {
      log,
      applied: recorded.last,
      common,
      events: (await deps.events.newest())?.index ?? 0,
      divergence: deps.divergence()?.message,
      historyIndex: await deps.restoredIndex(),
      lost: lostCount > 0 ? await deps.lostAbove(common, MAX_LOST_NAMED) : [],
      lostCount,
    };
  }

  /**
   * Removes frames of lost transactions from EVENTS. If its newest frame belongs to a transaction of the log, all
   * frames do, and a projector may be adding more.
   */
  private async removeLostFrames(journal: DecidedLog, { common }: LogComparison): Promise<void> {
    const newest = await this.deps.events.newest();
    if (!newest || newest.index <= common) return;
    const found = await journal.markAt(newest.index);
    if (found?.timeNs !== newest.timeNs) await this.deps.events.removeAbove(common);
  }

  /** Skips indexes, so that no index that anybody may have seen is assigned again (ST-1). */
  private async skipIndexes(
    journal: DecidedLog,
    found: LogComparison,
    requester: Requester,
    atLeast = 0,
  ): Promise<void> {
    const known = Math.max(found.log.last, found.applied, atLeast);
    let missing = known + (found.lostCount > 0 ? INDEXES_PASSED_OVER : 1) - found.log.last;
    for (; missing > 0; missing -= PASSED_OVER_AT_ONCE)
      await Promise.all(
        Array.from({ length: Math.min(missing, PASSED_OVER_AT_ONCE) }, () => {
          const author = authorBecause(requester, 'passes over an index that was lost');
          return journal.publish(this.deps.writer.draft({ type: 'Ignore', payload: {} }, author));
        }),
      );
  }

  /** Restores the state of an archive with the log's later transactions. All processes begin anew from there. */
  private async restoreFrom(
    journal: DecidedLog,
    machine: StateMachine,
    requester: Requester,
    reason: string,
  ): Promise<number> {
    const { pack, newId, logger, writer } = this.deps;
    for (let attempt = 1; ; attempt++) {
      await replay(journal, machine, (await journal.bounds()).last);
      const { meta, bytes } = await pack(machine);
      const stored = await journal.archives.put(newId(), bytes);
      const decision = { type: 'StateRestore', payload: { ...stored, Index: meta.Index } } as const;
      const draft = writer.draft(decision, authorBecause(requester, reason));
      try {
        const { index } = await journal.publishAt(draft, machine.appliedIndex);
        logger.warn('a new history of the log begins', { index, reason });
        return index;
      } catch (error) {
        if (attempt >= MAX_ATTEMPTS) throw error; // somebody writes: what was written meanwhile must not be undone
      }
    }
  }

  private async withJournal<T>(work: (journal: DecidedLog) => Promise<T>): Promise<T> {
    const journal = this.deps.openJournal();
    try {
      return await work(journal);
    } finally {
      journal.close();
    }
  }
}

/** Says whether a transaction has a frame. A frame that cannot be made has a substitute (EV-56). */
function hasFrame(applied: Applied): boolean {
  try {
    return eventsOf(applied) !== null;
  } catch {
    return true;
  }
}

/** Returns the author. Each transaction of the recovery has an ID of its own. */
function authorBecause(requester: Requester, reason: string): Author {
  const { laterAuthor: author } = requester;
  return { ...author, reason: author.reason ? `${author.reason} (${reason})` : reason };
}
