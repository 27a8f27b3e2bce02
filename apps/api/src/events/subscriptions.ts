import type { Timers } from '@waybill/model';
import { EventsTrimmedError, type EventLog } from '@waybill/projection';
import type { Logger } from '@waybill/telemetry';
import type { EventFilter } from './event-filter.js';
import { sinkOf } from '../http/line-sink.js';
import { type ApiReply, whenClosed } from '../http/reply.js';
import type { StreamPermit } from './stream-permit.js';
import { Subscriber } from './subscriber.js';

export interface SubscriptionOptions {
  /** `enable_event_broker` (EV-29). */
  readonly enabled: boolean;
  /** Frames that a start at index 0 replays (EV-63). */
  readonly replayFrames: number;
}

/** One stream as it is to be written. */
export interface Served {
  /** 0: the last `replayFrames`. */
  readonly fromIndex: number;
  readonly filter: EventFilter;
  /** Whether the stream ends with what was applied at its beginning. */
  readonly untilHead: boolean;
  readonly permit: Pick<StreamPermit, 'ended' | 'settled'>;
}

/** Calls `run` when the signal is aborted; at once if it is. */
function whenAborted(signal: AbortSignal, run: () => void): void {
  if (signal.aborted) run();
  else signal.addEventListener('abort', run, { once: true });
}

/** The open event streams of this instance. Ended with it: clients reconnect with N+1 elsewhere (EV-70). */
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
   * Writes lines until the client goes away, stalls, or this instance ends; or, if it is wanted only so far, until all
   * that was applied at its beginning has been written. Never throws: the status is sent (EV-48).
   */
  async serve(raw: ApiReply['raw'], { fromIndex, filter, untilHead, permit }: Served): Promise<void> {
    const subscriber = new Subscriber(sinkOf(raw), this.timers);
    this.open.add(subscriber);
    whenClosed(raw, () => subscriber.close());
    whenAborted(permit.ended, () => subscriber.close());
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
          if (!(await permit.settled())) return;
          for (const { bytes, last } of filter.linesOf(frames)) await subscriber.send(bytes, last);
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
