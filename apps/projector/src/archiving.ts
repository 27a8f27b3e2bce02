import type { Term } from '@waybill/roles';
import { type Clock, type Timers, pause } from '@waybill/model';
import type { TakenArchive } from '@waybill/projection';
import type { Logger } from '@waybill/telemetry';
import type { ArchiveShelf, ShelvedArchive } from './archive-shelf.js';

/**
 * The longest time between two checks whether an archive is due, in milliseconds. It fits a timer, and a clock that
 * somebody sets is noticed within this time.
 */
export const MAX_LOOK_MS = 3_600_000;
/** The pause in milliseconds after an archive could not be taken or stored. */
export const ARCHIVE_RETRY_MS = 60_000;

export interface ArchivingOptions {
  readonly intervalMs: number;
  /** The number of archives to keep, at least 1. */
  readonly keep: number;
  readonly shelf: ArchiveShelf;
  readonly take: () => Promise<TakenArchive>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
}

/**
 * Archiving stores an archive of the whole state at intervals and keeps the newest few (OP-49). It runs beside the
 * projector in the same term, so only one process does it.
 *
 * idle → reading the shelf → (waiting → taking → tidying) … → idle. The time of the next archive follows from the
 * newest one on the shelf, whoever took it. Each archive is read back before it counts, and only then are older ones
 * removed. A late deposed holder leaves one extra archive.
 * Limits: one archive at a time. Cost: the cost of `takeArchive` per interval; at the beginning of a term it reads one
 * archive.
 */
export class Archiving {
  private stopper: AbortController | undefined;
  private running: Promise<void> = Promise.resolve();
  private newest: ShelvedArchive | undefined;
  /** Resolves when no archive is being taken. */
  private taking: Promise<void> = Promise.resolve();

  constructor(private readonly options: ArchivingOptions) {}

  start(term: Term): void {
    const stopper = new AbortController();
    this.stopper = stopper;
    this.newest = undefined;
    this.running = this.archiveUntilStopped(term, stopper.signal);
  }

  /** Waits for an archive that is being taken. */
  async stop(): Promise<void> {
    this.stopper?.abort();
    await this.running;
  }

  /**
   * The highest index that an archive contains which was read back whole. The log may lose the indexes up to it. It is
   * 0 if there is no such archive.
   */
  get verifiedIndex(): number {
    return this.newest?.index ?? 0;
  }

  /**
   * Removes every archive of a lower index, after it has stored one of this index or a higher one. PostgreSQL must have
   * reached the index.
   */
  replaceBelow(index: number): Promise<void> {
    return this.oneAtATime(async () => {
      if (this.verifiedIndex < index) await this.archive();
      for (const old of await this.options.shelf.list()) if (old.index < index) await this.options.shelf.remove(old);
    });
  }

  stats(): Record<string, number> {
    return { archiveIndex: this.verifiedIndex, archivedAtMs: this.newest?.takenAtMs ?? 0 };
  }

  private async archiveUntilStopped(term: Term, signal: AbortSignal): Promise<void> {
    const { timers, logger } = this.options;
    let isKnown = false;
    while (!signal.aborted && term.isCurrent()) {
      try {
        if (!isKnown) this.newest = await this.newestWhole();
        isKnown = true;
        await pause(timers, Math.min(this.dueInMs(), MAX_LOOK_MS), signal);
        await this.oneAtATime(async () => {
          if (!signal.aborted && term.isCurrent() && this.dueInMs() <= 0) await this.archive();
        });
      } catch (error) {
        if (signal.aborted) return;
        logger.error('no archive of the state could be put away; trying again', { error });
        await pause(timers, ARCHIVE_RETRY_MS, signal);
      }
    }
  }

  private oneAtATime(work: () => Promise<void>): Promise<void> {
    const done = this.taking.then(work);
    this.taking = done.catch(() => {}); // the caller gets the error
    return done;
  }

  private dueInMs(): number {
    const { clock, intervalMs } = this.options;
    return this.newest ? this.newest.takenAtMs + intervalMs - clock.nowMs() : 0;
  }

  private async archive(): Promise<void> {
    const { shelf, take, clock, keep, logger } = this.options;
    const takenAtMs = clock.nowMs();
    const archive = await shelf.put(await take(), takenAtMs);
    if (!(await shelf.isWhole(archive))) throw new Error(`the archive ${archive.name} cannot be read back`);
    this.newest = archive;
    logger.info('archive put away', { name: archive.name, index: archive.index });
    const others = (await shelf.list()).filter(({ name }) => name !== archive.name);
    for (const old of others.slice(0, Math.max(0, others.length - (keep - 1)))) await shelf.remove(old);
  }

  private async newestWhole(): Promise<ShelvedArchive | undefined> {
    const { shelf, clock, logger } = this.options;
    for (const archive of (await shelf.list()).toReversed()) {
      // An archive that was taken under a clock that ran ahead must not delay the next one for longer than any other.
      if (await shelf.isWhole(archive)) return { ...archive, takenAtMs: Math.min(archive.takenAtMs, clock.nowMs()) };
      logger.warn('an archive is damaged', { name: archive.name });
    }
    return undefined;
  }
}
