import type { Journal, OpenedArchive } from '@waybill/journal';
import { errorText } from '@waybill/model';
import { isDamage, type RebuildSource } from '@waybill/projection';
import { StateMachine, type TableRows } from '@waybill/state';
import { replay } from '@waybill/replica';
import type { Logger } from '@waybill/telemetry';
import { badRequest, conflict } from '../http/api-error.js';
import { machineOf } from './archived-state.js';

/** The log may begin here, or directly behind an archive. */
const FIRST_INDEX = 1;

/** Rebuilt is the result of a rebuild. */
export interface Rebuilt {
  /** Postgres' index. */
  readonly index: number;
  /** The lowest index whose history Postgres has. */
  readonly historyFrom: number;
}

export interface RebuildProjectionDeps {
  /** Opens a separate journal. The caller closes it. */
  readonly openJournal: () => Pick<Journal, 'bounds' | 'follow' | 'close'>;
  /** Returns Postgres' index. */
  readonly appliedIndex: () => Promise<number>;
  readonly leases: () => Promise<readonly TableRows['leases'][]>;
  /** @throws BadArchiveError, BadRowsError */
  readonly open: (bytes: Uint8Array) => Promise<OpenedArchive>;
  readonly rebuild: (source: RebuildSource) => Promise<number>;
  readonly logger: Logger;
}

/**
 * RebuildProjection fills Postgres anew from the log while everything else continues. It is for damaged files. It
 * begins at the log's first transaction, or at an archive and the log behind it. Cost: it reads the log and holds one
 * more copy of the state in memory. Reads of Postgres wait until it ends.
 */
export class RebuildProjection {
  private running: Promise<Rebuilt> | undefined;

  constructor(private readonly deps: RebuildProjectionDeps) {}

  /**
   * Rebuilds. A call during a rebuild gets the result of that rebuild.
   * @param archive if it is absent, the rebuild begins at the first transaction
   * @throws Refusal conflict, invalid; BadArchiveError, BadRowsError
   */
  rebuild(archive?: Uint8Array): Promise<Rebuilt> {
    this.running ??= this.rebuildWithJournal(archive).finally(() => (this.running = undefined));
    return this.running;
  }

  private async rebuildWithJournal(archive: Uint8Array | undefined): Promise<Rebuilt> {
    const journal = this.deps.openJournal();
    try {
      return await this.rebuildFrom(journal, archive);
    } finally {
      journal.close();
    }
  }

  private async rebuildFrom(
    journal: Pick<Journal, 'bounds' | 'follow'>,
    archive: Uint8Array | undefined,
  ): Promise<Rebuilt> {
    const { rebuild, logger } = this.deps;
    const base = archive && (await this.baseOf(archive));
    const from = (base?.appliedIndex ?? 0) + FIRST_INDEX;
    const log = await journal.bounds();
    if (log.first > from)
      throw conflict(
        `the log begins at index ${log.first}, and what comes from index ${from} on is needed: ` +
          'name an archive that is newer (waybill operator projection rebuild FILE)',
      );
    const to = Math.min(log.last, await this.targetIndex(log.last));
    if (to < from - 1) throw badRequest(`the archive is of index ${from - 1}, and the database only at ${to}`);
    logger.warn('the database is filled anew from the log; reads wait', { from, to });
    const index = await rebuild({
      base,
      follow: async (take) => {
        const machine = base ?? new StateMachine();
        await replay(journal, machine, to, { take });
        return machine.appliedIndex;
      },
    });
    logger.warn('the database is filled anew', { index });
    return { index, historyFrom: from };
  }

  /**
   * Returns the index up to which to rebuild: the projector's position, so that it continues there, or the end of the
   * log if that page is damaged too.
   */
  private async targetIndex(last: number): Promise<number> {
    try {
      return await this.deps.appliedIndex();
    } catch (error) {
      if (!isDamage(error)) throw error;
      return last;
    }
  }

  private async baseOf(archive: Uint8Array): Promise<StateMachine> {
    const { index, tables } = await this.deps.open(archive);
    const leases = await this.deps.leases().catch((error: unknown) => {
      if (isDamage(error))
        throw conflict(`who holds which role cannot be read, so an archive does not do: ${errorText(error)}`);
      throw error;
    });
    return machineOf(tables, leases, index);
  }
}
