import { FrameOfLostTxnError } from '@waybill/journal';
import { TIME_HEADER } from '@waybill/projection';
import type { Applied } from '@waybill/state';
import { type AddressedPart, type EventStream, type EventTail, missingParts } from './event-stream.js';

/** EVENTS ends before a frame that was in it: it lost its end. Whoever finds it makes the frames again from the log. */
export class EventsRewoundError extends Error {
  override readonly name = 'EventsRewoundError';
  constructor(framed: number, found: number) {
    super(`EVENTS ends with the frame of index ${found}, and had one of index ${framed}: it lost its end`);
  }
}

/** Publishes frames behind the end of EVENTS, and knows where that is. After a failure it looks again. */
export class FrameWriter {
  /** Last sequence of EVENTS known. */
  sequence: number;
  /** Index of the newest frame that is known to be in EVENTS. */
  framed: number;
  private tail: EventTail | undefined;

  /** @param begunAt where EVENTS ended: its newest frame has to be of a transaction of this log */
  constructor(
    private readonly events: EventStream,
    private readonly begunAt: EventTail,
  ) {
    this.tail = begunAt;
    this.sequence = begunAt.sequence;
    this.framed = begunAt.index;
  }

  /** @throws FrameOfLostTxnError EVENTS has the frame of another transaction at this index (ST-1) */
  compare({ index, txn }: Applied): void {
    if (index === this.begunAt.index && txn.timeNs !== this.begunAt.timeNs) throw new FrameOfLostTxnError(index);
  }

  /** @throws EventsRewoundError, and what EVENTS fails with */
  async publish(parts: readonly AddressedPart[]): Promise<void> {
    if (parts.length === 0) return;
    const tail = this.tail ?? (await this.look());
    this.tail = undefined; // until it is known again
    const missing = missingParts(parts, tail);
    const last = missing.at(-1);
    this.sequence = last ? await this.events.append(missing, tail.end) : tail.sequence;
    const { sequence } = this;
    this.tail = last ? { ...last, sequence, end: sequence, timeNs: Number(last.headers[TIME_HEADER]) } : tail;
    this.framed = Math.max(this.framed, this.tail.index);
  }

  /** @throws EventsRewoundError EVENTS lost frames that were in it; and what EVENTS fails with */
  async look(): Promise<EventTail> {
    const { framed } = this;
    const tail = await this.events.tail();
    if (tail.index < framed) throw new EventsRewoundError(framed, tail.index);
    return tail;
  }
}
