import type { Timers } from '@waybill/model';
import { EventsTrimmedError, type EventLog, type StoredFrame } from '@waybill/projection';
import type { Logger } from '@waybill/telemetry';
import type { EventFilter } from './event-filter.js';
import { sinkOf } from '../http/line-sink.js';
import { type ApiReply, whenAborted, whenClosed } from '../http/reply.js';
import type { StreamPermit } from './stream-permit.js';
import { Subscriber } from './subscriber.js';

export interface SubscriptionOptions {
  /** The setting `enable_event_broker` (EV-29). */
  readonly enabled: boolean;
  /** The number of frames that a start at index 0 replays (EV-63). */
  readonly replayFrames: number;
}

/** Served says how to write one stream. */
export interface Served {
  /** The index from which to begin. 0 stands for the last `replayFrames` frames. */
  readonly fromIndex: number;
  readonly filter: EventFilter;
  /** Says whether the stream ends after everything applied at its beginning. */
  readonly untilHead: boolean;
  readonly permit: Pick<StreamPermit, 'ended' | 'settled'>;
}

/**
 * Subscriptions holds the open event streams of this instance. They end with it, and clients reconnect elsewhere with
 * N+1 (EV-70).
 */
export class Subscriptions {
  private readonly open = new Set<Subscriber>();

  constructor(
    private readonly events: Pick<EventLog, 'subscribe'>,
    private readonly timers: Timers,
    private readonly logger: Logger,
    private readonly options: SubscriptionOptions,
  ) {}

  get enabled(): boolean {
    return this.options.enabled;
  }

  get size(): number {
    return this.open.size;
  }

  /**
   * Writes lines until the client disconnects or stalls, or this instance ends. With `untilHead` it stops when
   * everything applied at the beginning is written. It never throws, because the status is already sent (EV-48).
   */
  async serve(raw: ApiReply['raw'], { fromIndex, filter, untilHead, permit }: Served): Promise<void> {
    const subscriber = new Subscriber(sinkOf(raw), this.timers);
    this.open.add(subscriber);
    whenClosed(raw, () => subscriber.close());
    whenAborted(permit.ended, () => subscriber.revoke());
    subscriber.open();
    try {
      await this.events.subscribe({
        fromIndex,
        replayFrames: this.options.replayFrames,
        interests: filter.interests,
        signal: subscriber.signal,
        ...(untilHead && { onCaughtUp: () => subscriber.finish() }),
        onBegin: (index) => subscriber.beginAt(index),
        onFrames: async (frames) => {
          let left = frames;
          while (left.length > 0 && (await permit.settled())) left = await sendUntilWait(subscriber, filter, left);
        },
      });
    } catch (error) {
      if (!(error instanceof EventsTrimmedError)) this.logger.warn('an event stream ended', { error });
    } finally {
      this.open.delete(subscriber);
      subscriber.close();
    }
  }

  close(): void {
    for (const subscriber of this.open) subscriber.close();
  }
}

/**
 * Sends the lines of the frames until the client makes us wait. Returns the frames that are left. They must be filtered
 * again, because a policy may have been narrowed during the wait (EV-43).
 */
async function sendUntilWait(
  subscriber: Subscriber,
  filter: EventFilter,
  frames: readonly StoredFrame[],
): Promise<readonly StoredFrame[]> {
  for (const { bytes, last } of filter.linesOf(frames))
    if (await subscriber.send(bytes, last)) return frames.filter(({ index }) => index > last);
  return [];
}
