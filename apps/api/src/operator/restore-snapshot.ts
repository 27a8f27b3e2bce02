import type { TransactionWriter } from '@waybill/writing';
import type { Log, OpenedArchive, StoredArchive } from '@waybill/journal';
import type { Clock } from '@waybill/model';
import { BadArchiveError } from '@waybill/model/snapshot-archive';
import { BadRowsError } from '@waybill/state';
import { badRequest, serverFailure, conflict } from '../http/api-error.js';
import type { Requester } from '../http/requester.js';
import type { ResumedRoles } from './resumed-roles.js';

/** Until the restored state can be read, and every role works on it (OP-42). */
export const RESTORE_TIMEOUT_MS = 60_000;
/**
 * How far behind an archive's index the log may be. A new cluster's log is brought up to it, so that no index is given
 * out twice (ST-1, OP-46), at some ten thousand a second.
 */
export const MAX_INDEXES_MADE_UP = 2_000_000;
/** Of them at once: below what the log's writer lets wait. */
const MADE_UP_AT_ONCE = 500;

export interface RestoreDeps {
  /** Takes an archive apart, all of it (OP-45). @throws BadArchiveError, BadRowsError */
  readonly open: (bytes: Uint8Array) => Promise<OpenedArchive>;
  readonly archives: { put(name: string, bytes: Uint8Array): Promise<StoredArchive> };
  readonly log: Pick<Log, 'publish'>;
  readonly writer: Pick<TransactionWriter, 'draft'>;
  /** Resolves when an index can be read. */
  readonly readable: (index: number, timeoutMs: number) => Promise<unknown>;
  readonly roles: Pick<ResumedRoles, 'after'>;
  /** Index that can be read now. */
  readonly applied: () => Promise<number>;
  /** Monotonic: a wait is no time of day. */
  readonly monotonic: Clock;
  readonly newId: () => string;
}

/**
 * Takes the cluster back to an archive (OP-42 to OP-48): it is looked at whole, stored beside the log, and then named in
 * one transaction. A crash before that leaves the old state, one after it the new.
 */
export class RestoreSnapshot {
  constructor(private readonly deps: RestoreDeps) {}

  /** @returns the index of the restore @throws Refusal invalid, conflict, or internal: the restore is written and not live in time */
  async restore(bytes: Uint8Array, requester: Requester): Promise<number> {
    const { archives, log, writer, newId } = this.deps;
    const archivedIndex = await this.indexOf(bytes);
    await this.reach(archivedIndex, requester);
    const stored = await archives.put(newId(), bytes);
    const decision = { type: 'StateRestore', payload: { ...stored, Index: archivedIndex } } as const;
    const { index } = await log.publish(writer.draft(decision, requester.author));
    await this.live(index);
    return index;
  }

  private async live(index: number): Promise<void> {
    const { readable, roles, monotonic } = this.deps;
    const untilMs = monotonic.nowMs() + RESTORE_TIMEOUT_MS;
    try {
      await readable(index, RESTORE_TIMEOUT_MS);
      await roles.after(index, untilMs - monotonic.nowMs());
    } catch {
      throw serverFailure(`timed out waiting to re-run leader actions: the restore is written as index ${index}`);
    }
  }

  private async reach(index: number, requester: Requester): Promise<void> {
    let missing = index - (await this.deps.applied());
    if (missing > MAX_INDEXES_MADE_UP)
      throw conflict(`failed to restore from snapshot: its index ${index} is too far above the log of this cluster`);
    for (; missing > 0; missing -= MADE_UP_AT_ONCE)
      await Promise.all(Array.from({ length: Math.min(missing, MADE_UP_AT_ONCE) }, () => this.makeUp(requester)));
  }

  private makeUp(requester: Requester): Promise<unknown> {
    return this.deps.log.publish(this.deps.writer.draft({ type: 'Ignore', payload: {} }, requester.laterAuthor));
  }

  /** @throws Refusal what is wrong with the archive */
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
