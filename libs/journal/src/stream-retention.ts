import { nanos } from '@nats-io/transport-node';
import type { JetStreamManager } from '@nats-io/jetstream';
import type { NatsLink } from './connection.js';
import { LogUnavailableError } from './errors.js';
import { EVENTS_STREAM, managerOf } from './streams.js';
import { TXN_STREAM } from './subject.js';

/** How long events stay readable: whichever limit is reached first (EV-68). */
export interface EventLimits {
  readonly maxAgeMs: number;
  readonly maxFrames: number;
}

/** Takes the oldest part off the streams. Stateless; doing it twice, or in two processes, does no harm. */
export class StreamRetention {
  constructor(private readonly link: NatsLink) {}

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
      throw new LogUnavailableError(`${what}: ${e instanceof Error ? e.message : String(e)}`, { cause: e });
    }
  }
}
