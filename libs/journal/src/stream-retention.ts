import { errorText } from '@waybill/model';
import { nanos } from '@nats-io/transport-node';
import type { JetStreamManager } from '@nats-io/jetstream';
import type { NatsLink } from './connection.js';
import { LogUnavailableError } from './errors.js';
import { ARCHIVES_STREAM, EVENTS_STREAM, managerOf, nextMessage } from './streams.js';
import { TXN_STREAM } from './subject.js';

/** How long events stay readable: whichever limit is reached first (EV-68). */
export interface EventLimits {
  readonly maxAgeMs: number;
  readonly maxFrames: number;
}

/**
 * An archive is stored before the transaction that names it is written, by no more than this, milliseconds: what an
 * upload of the largest one may take many times over.
 */
export const ARCHIVE_AHEAD_MS = 3_600_000;

/** Takes the oldest part off the streams. Stateless; doing it twice, or in two processes, does no harm. */
export class StreamRetention {
  constructor(
    private readonly link: NatsLink,
    private readonly archiveAheadMs = ARCHIVE_AHEAD_MS,
  ) {}

  /**
   * Removes every transaction below this index; answers the log's first index afterwards. Numbering goes on where it
   * was (ST-1). A reader that still needed them gets LogTrimmedError and starts from a snapshot.
   * @throws LogUnavailableError
   */
  async trimLog(below: number): Promise<number> {
    return this.ask('trimming the log', async (manager) => {
      const { state } = await manager.streams.info(TXN_STREAM);
      if (state.first_seq >= below) return state.first_seq;
      await manager.streams.purge(TXN_STREAM, { seq: below });
      return below;
    });
  }

  /**
   * Removes the archives that no transaction still in the log can name: a restore can be read as long as the log has it,
   * and what was uploaded for one that never came is gone with the log of its time. Cost: the time of one chunk for each
   * doubling of what is stored, and none as long as nothing may go.
   * @throws LogUnavailableError
   */
  async trimArchives(): Promise<void> {
    await this.ask('trimming the archives', async (manager) => {
      const { state: log } = await manager.streams.info(TXN_STREAM);
      const { state: stored } = await manager.streams.info(ARCHIVES_STREAM);
      if (log.messages === 0 || stored.messages === 0) return;
      const neededMs = Date.parse(log.first_ts) - this.archiveAheadMs;
      if (Date.parse(stored.first_ts) >= neededMs) return;
      const seq = await firstChunkSince(manager, neededMs, stored.first_seq, stored.last_seq + 1);
      await manager.streams.purge(ARCHIVES_STREAM, { seq });
    });
  }

  /** Sets what EVENTS keeps; the server trims it from then on. @throws LogUnavailableError */
  async limitEvents({ maxAgeMs, maxFrames }: EventLimits): Promise<void> {
    await this.ask('limiting the event stream', async (manager) => {
      const { config } = await manager.streams.info(EVENTS_STREAM);
      const wanted = { max_age: nanos(maxAgeMs), max_msgs: maxFrames };
      if (config.max_age === wanted.max_age && config.max_msgs === wanted.max_msgs) return;
      await manager.streams.update(EVENTS_STREAM, wanted);
    });
  }

  private async ask<R>(what: string, work: (manager: JetStreamManager) => Promise<R>): Promise<R> {
    try {
      return await work(await managerOf(this.link));
    } catch (e) {
      throw new LogUnavailableError(`${what}: ${errorText(e)}`, { cause: e });
    }
  }
}

/** The first sequence stored at `sinceMs` or later, between these; `to` if none is. */
async function firstChunkSince(manager: JetStreamManager, sinceMs: number, from: number, to: number): Promise<number> {
  while (from < to) {
    const seq = Math.floor((from + to) / 2);
    const chunk = await manager.streams.getMessage(ARCHIVES_STREAM, nextMessage(seq, `${ARCHIVES_STREAM}.>`));
    if (!chunk || chunk.time.getTime() >= sinceMs) to = seq;
    else from = chunk.seq + 1;
  }
  return to;
}
