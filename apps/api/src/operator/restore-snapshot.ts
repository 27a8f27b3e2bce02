import type { TransactionWriter } from '@waybill/writing';
import type { Log, OpenedArchive, StoredArchive } from '@waybill/journal';
import type { Clock } from '@waybill/model';
import { BadArchiveError } from '@waybill/model/snapshot-archive';
import { BadRowsError } from '@waybill/state';
import { badRequest, serverFailure, conflict } from '../http/api-error.js';
import type { Requester } from '../http/requester.js';
import type { ResumedRoles } from './resumed-roles.js';

/** The time in milliseconds until the restored state must be readable and every role works on it (OP-42). */
export const RESTORE_TIMEOUT_MS = 60_000;
/**
 * The largest number of indexes by which the log may be behind an archive. The restore raises a new cluster's log to
 * the archive's index, so that no index is assigned twice (ST-1, OP-46). It writes some ten thousand a second.
 */
export const MAX_INDEXES_MADE_UP = 2_000_000;
/** The number of them that are written at once. It is below the limit of waiting writes of the log's writer. */
const MADE_UP_AT_ONCE = 500;

export interface RestoreDeps {
  /** Unpacks and checks a whole archive (OP-45). @throws BadArchiveError, BadRowsError */
  readonly open: (bytes: Uint8Array) => Promise<OpenedArchive>;
  readonly archives: { put(name: string, bytes: Uint8Array): Promise<StoredArchive> };
  readonly log: Pick<Log, 'publish'>;
  readonly writer: Pick<TransactionWriter, 'draft'>;
  /** Resolves when an index can be read. */
  readonly readable: (index: number, timeoutMs: number) => Promise<unknown>;
  readonly roles: Pick<ResumedRoles, 'awaitResumed'>;
  /** Returns the index that can be read now. */
  readonly applied: () => Promise<number>;
  /** A monotonic clock, because a wait must not depend on the time of day. */
  readonly monotonic: Clock;
  readonly newId: () => string;
}

/**
 * RestoreSnapshot restores the cluster from an archive (OP-42 to OP-48). It checks the whole archive, stores it beside
 * the log, and then names it in one transaction. A crash before that transaction leaves the old state, a crash after it
 * the new one.
 */
export class RestoreSnapshot {
  constructor(private readonly deps: RestoreDeps) {}

  /**
   * @returns the index of the restore @throws Refusal invalid, conflict; internal if the restore is written and does
   * not take effect in time
   */
  async restore(bytes: Uint8Array, requester: Requester): Promise<number> {
    const { archives, log, writer, newId } = this.deps;
    const archivedIndex = await this.indexOf(bytes);
    await this.advanceLog(archivedIndex, requester);
    const stored = await archives.put(newId(), bytes);
    const decision = { type: 'StateRestore', payload: { ...stored, Index: archivedIndex } } as const;
    const { index } = await log.publish(writer.draft(decision, requester.author));
    await this.awaitRestored(index);
    return index;
  }

  private async awaitRestored(index: number): Promise<void> {
    const { readable, roles, monotonic } = this.deps;
    const untilMs = monotonic.nowMs() + RESTORE_TIMEOUT_MS;
    try {
      await readable(index, RESTORE_TIMEOUT_MS);
      await roles.awaitResumed(index, untilMs - monotonic.nowMs());
    } catch {
      throw serverFailure(`timed out waiting to re-run leader actions: the restore is written as index ${index}`);
    }
  }

  private async advanceLog(index: number, requester: Requester): Promise<void> {
    let missing = index - (await this.deps.applied());
    if (missing > MAX_INDEXES_MADE_UP)
      throw conflict(`failed to restore from snapshot: its index ${index} is too far above the log of this cluster`);
    for (; missing > 0; missing -= MADE_UP_AT_ONCE)
      await Promise.all(
        Array.from({ length: Math.min(missing, MADE_UP_AT_ONCE) }, () => this.publishIgnore(requester)),
      );
  }

  private publishIgnore(requester: Requester): Promise<unknown> {
    return this.deps.log.publish(this.deps.writer.draft({ type: 'Ignore', payload: {} }, requester.laterAuthor));
  }

  /** @throws Refusal that says what is wrong with the archive */
  private async indexOf(bytes: Uint8Array): Promise<number> {
    try {
      return (await this.deps.open(bytes)).index;
    } catch (error) {
      if (!(error instanceof BadArchiveError) && !(error instanceof BadRowsError)) throw error;
      const text = `failed to restore from snapshot: ${error.message}`;
      throw badRequest(text);
    }
  }
}
