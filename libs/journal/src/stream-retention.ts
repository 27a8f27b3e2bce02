import { errorText } from '@waybill/model';
import { nanos } from '@nats-io/transport-node';
import type { JetStreamManager } from '@nats-io/jetstream';
import type { NatsLink } from './connection.js';
import { LogUnavailableError } from './errors.js';
import { ARCHIVES_STREAM, EVENTS_STREAM, managerOf, nextMessage } from './streams.js';
import { TXN_STREAM } from './subject.js';

/** How long events stay readable: until the first limit is reached (EV-68). */
export interface EventLimits {
  readonly maxAgeMs: number;
  readonly maxFrames: number;
}

/**
 * Longest time between the storage of an archive and the transaction that names it, milliseconds: many times the upload
 * of the largest archive.
 */
export const ARCHIVE_AHEAD_MS = 3_600_000;

/** Trims the oldest part of the streams. Stateless; repeating it, or doing it in two processes, does no harm. */
export class StreamRetention {
  constructor(
    private readonly link: NatsLink,
    private readonly archiveAheadMs = ARCHIVE_AHEAD_MS,
  ) {}

  /**
   * Removes every transaction below this index. Numbering continues (ST-1). A reader that still needed one gets
   * LogTrimmedError and starts from a snapshot.
   * @returns the log's first index after that
   * @throws LogUnavailableError
   */
  async trimLog(below: number): Promise<number> {
    return this.withManager('trimming the log', async (manager) => {
      const { state } = await manager.streams.info(TXN_STREAM);
      if (state.first_seq >= below) return state.first_seq;
      await manager.streams.purge(TXN_STREAM, { seq: below });
      return below;
    });
  }

  /** Returns the index of the first transaction in the log. @throws LogUnavailableError */
  async firstIndex(): Promise<number> {
    return this.withManager('reading where the log begins', async (manager) => {
      return (await manager.streams.info(TXN_STREAM)).state.first_seq;
    });
  }

  /**
   * Removes the archives that no transaction in the log can name: an archive is kept while the log has its restore, and
   * an archive whose restore was never written is removed with the log of its time. Cost: reading the time of one chunk
   * for each doubling of the stored chunks, and none while nothing may be removed.
   * @throws LogUnavailableError
   */
  async trimArchives(): Promise<void> {
    await this.withManager('trimming the archives', async (manager) => {
      const { state: log } = await manager.streams.info(TXN_STREAM);
      const { state: stored } = await manager.streams.info(ARCHIVES_STREAM);
      if (log.messages === 0 || stored.messages === 0) return;
      const neededMs = Date.parse(log.first_ts) - this.archiveAheadMs;
      if (Date.parse(stored.first_ts) >= neededMs) return;
      const seq = await firstChunkSince(manager, neededMs, stored.first_seq, stored.last_seq + 1);
      await manager.streams.purge(ARCHIVES_STREAM, { seq });
    });
  }

  /** Sets the limits of EVENTS; the server enforces them from then on. @throws LogUnavailableError */
  async limitEvents({ maxAgeMs, maxFrames }: EventLimits): Promise<void> {
    await this.withManager('limiting the event stream', async (manager) => {
      const { config } = await manager.streams.info(EVENTS_STREAM);
      const wanted = { max_age: nanos(maxAgeMs), max_msgs: maxFrames };
      if (config.max_age === wanted.max_age && config.max_msgs === wanted.max_msgs) return;
      await manager.streams.update(EVENTS_STREAM, wanted);
    });
  }

  private async withManager<R>(what: string, work: (manager: JetStreamManager) => Promise<R>): Promise<R> {
    try {
      return await work(await managerOf(this.link));
    } catch (e) {
      throw new LogUnavailableError(`${what}: ${errorText(e)}`, { cause: e });
    }
  }
}

/** The first sequence between `from` and `to` that was stored at `sinceMs` or later; `to` if there is none. */
async function firstChunkSince(manager: JetStreamManager, sinceMs: number, from: number, to: number): Promise<number> {
  while (from < to) {
    const seq = Math.floor((from + to) / 2);
    const chunk = await manager.streams.getMessage(ARCHIVES_STREAM, nextMessage(seq, `${ARCHIVES_STREAM}.>`));
    if (!chunk || chunk.time.getTime() >= sinceMs) to = seq;
    else from = chunk.seq + 1;
  }
  return to;
}
