import type { Term } from '@waybill/roles';
import { type Clock, type Timers, pause } from '@waybill/model';
import type { TakenArchive } from '@waybill/projection';
import type { Logger } from '@waybill/telemetry';
import type { ArchiveShelf, ShelvedArchive } from './archive-shelf.js';

/** Between two looks at whether an archive is due, milliseconds at most: what a timer can hold, and a clock that is set. */
export const MAX_LOOK_MS = 3_600_000;
/** After an archive that could not be taken or put away, milliseconds. */
export const ARCHIVE_RETRY_MS = 60_000;

export interface ArchivingOptions {
  readonly intervalMs: number;
  /** Archives that are kept, at least 1. */
  readonly keep: number;
  readonly shelf: ArchiveShelf;
  readonly take: () => Promise<TakenArchive>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
}

/**
 * Puts an archive of the whole state away at intervals, and keeps the newest few (OP-49). Runs beside the projector, in
 * the same term, so that one process does it.
 *
 * idle → looking at what lies on the shelf → (waiting → taking → tidying) … → idle. When the next one is due follows from
 * the newest that is there, whoever took it. Each is read back before it counts; an older one goes only after that. A
 * deposed holder that is late leaves one archive more.
 * Limits: one at a time. Cost: that of `takeArchive` per interval; one archive is read at the begin of a term.
 */
export class Archiving {
  private stopper: AbortController | undefined;
  private running: Promise<void> = Promise.resolve();
  private newest: ShelvedArchive | undefined;

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

  /** What the log may lose: indexes up to this one are in an archive that was read back whole. 0: there is none. */
  get verifiedIndex(): number {
    return this.newest?.index ?? 0;
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
        if (!signal.aborted && term.isCurrent() && this.dueInMs() <= 0) await this.archive();
      } catch (error) {
        if (signal.aborted) return;
        logger.error('no archive of the state could be put away; trying again', { error });
        await pause(timers, ARCHIVE_RETRY_MS, signal);
      }
    }
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
      // Taken under a clock that ran ahead, it must not hold up the next one for longer than any other.
      if (await shelf.isWhole(archive)) return { ...archive, takenAtMs: Math.min(archive.takenAtMs, clock.nowMs()) };
      logger.warn('an archive is damaged', { name: archive.name });
    }
    return undefined;
  }
}
