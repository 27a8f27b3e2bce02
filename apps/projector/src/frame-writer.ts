import { FrameOfLostTxnError } from '@waybill/journal';
import { TIME_HEADER } from '@waybill/projection';
import type { Applied } from '@waybill/state';
import { type AddressedPart, type EventStream, type EventTail, missingParts } from './event-stream.js';

/**
 * EventsRewoundError says that EVENTS has lost its end, with frames that were stored. The next session of the projector
 * makes the frames again.
 */
export class EventsRewoundError extends Error {
  override readonly name = 'EventsRewoundError';
  constructor(framed: number, found: number) {
    super(`EVENTS had the frame of index ${framed} and ends with the frame of index ${found} now: it has lost its end`);
  }
}

/**
 * FrameWriter publishes frames behind the end of EVENTS.
 *
 * The end is known → unknown (a publish has begun or failed) → known. While it is unknown, the next publish reads it.
 * Memory: the end. Cost: one request for each publish, and one more after a failure.
 */
export class FrameWriter {
  /** The last known sequence of EVENTS. */
  sequence: number;
  private tail: EventTail | undefined;
  /** The newest part that is known to be in EVENTS. */
  private newest: Pick<EventTail, 'index' | 'part' | 'parts'>;

  /** @param begunAt the end of EVENTS at the beginning; its newest frame must belong to a transaction of this log */
  constructor(
    private readonly events: EventStream,
    private readonly begunAt: EventTail,
  ) {
    this.tail = begunAt;
    this.sequence = begunAt.sequence;
    this.newest = begunAt;
  }

  /** The index of the newest frame that is known to be in EVENTS. */
  get framed(): number {
    return this.newest.index;
  }

  /**
   * Says whether EVENTS ends before a frame or inside it. @param framed the index of a frame that was whole in EVENTS
   */
  hasLost(framed: number): boolean {
    const { index, part, parts } = this.newest;
    // A stream that has given sequences and has no message has lost none: its frames were removed, by their age or for
    // an erasure.
    if (parts === 0 && this.begunAt.end > 0) return false;
    return index < framed || (index === framed && part < parts);
  }

  /** @throws FrameOfLostTxnError if EVENTS has the frame of another transaction at this index (ST-1) */
  compare({ index, txn }: Applied): void {
    if (index === this.begunAt.index && txn.timeNs !== this.begunAt.timeNs) throw new FrameOfLostTxnError(index);
  }

  /** @throws EventsRewoundError, and the errors of EVENTS */
  async publish(parts: readonly AddressedPart[]): Promise<void> {
    if (parts.length === 0) return;
    const tail = this.tail ?? (await this.checkTail());
    this.tail = undefined; // until it is known again
    const missing = missingParts(parts, tail);
    const last = missing.at(-1);
    this.sequence = last ? await this.events.append(missing, tail.end) : tail.sequence;
    const { sequence } = this;
    this.tail = last ? { ...endOf(last), sequence, end: sequence } : tail;
    this.newest = this.tail;
  }

  /** @throws EventsRewoundError if EVENTS lost frames that it had; and the errors of EVENTS */
  async checkTail(): Promise<EventTail> {
    const { index, part } = this.newest;
    const tail = await this.events.tail();
    if (tail.index < index || (tail.index === index && tail.part < part))
      throw new EventsRewoundError(index, tail.index);
    return tail;
  }
}

/** Returns the end without the part's content, which may be large. */
const endOf = ({ index, part, parts, headers }: AddressedPart): Omit<EventTail, 'sequence' | 'end'> => ({
  index,
  timeNs: Number(headers[TIME_HEADER]),
  part,
  parts,
});
