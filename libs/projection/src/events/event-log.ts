import { FrameAssembler, type StoredFrame } from './event-frame.js';
import { eventFloor } from './event-floor.js';
import { EVERYTHING, type Interest } from './event-routes.js';
import { type EventStorage, EventWindow, READ_BYTES, READ_MESSAGES } from './event-window.js';
import { type Waited, WaitingReaders } from './waiting-readers.js';
import type { ProjectionFeed } from '../feed/projection-feed.js';

/** How many frames a start at index 0 replays unless told otherwise (EV-63). */
export const DEFAULT_REPLAY_FRAMES = 100;
/** A subscriber's position was trimmed while it was reading: it has lost something and must be told (EV-69). */
export class EventsTrimmedError extends Error {
  override readonly name = 'EventsTrimmedError';
  constructor(readonly floor: number) {
    super(`events before index ${floor} are no longer kept`);
  }
}

export interface Subscription {
  /** First index wanted: 0 the last `replayFrames`, above what is applied: from now on (EV-60 to EV-66). */
  readonly fromIndex: number;
  readonly replayFrames?: number;
  /** While it is up to date, only frames with such events need be given; default: all. */
  readonly interests?: readonly Interest[];
  /** Called with every frame that may be wanted, in order, one at a time: the next waits for the promise. */
  readonly onFrame: (frame: StoredFrame) => void | Promise<void>;
  /** Called once, when all that was applied when it began has been given. */
  readonly onCaughtUp?: () => void;
  /** Ends the subscription. */
  readonly signal: AbortSignal;
}

/** Where a subscriber is: the index it gets next, and the sequence of what it got last. */
interface Reader {
  next: number;
  after: number | undefined;
  /** It has been given all that there is. */
  isUpToDate: boolean;
}

/**
 * The event stream for all subscribers of one process.
 *
 * A subscriber is an index, nothing more (EV-69). One that is up to date gets the frames of a window in memory that all
 * share, filled as the feed says that there is more; one that is behind the window reads from the stream until
 * it has caught up with it. Only frames that the read model has reached are given out (EV-73). Who has all there is waits
 * until something concerns it (`WaitingReaders`).
 * Limits: those of the window for all; READ_BYTES for each that is behind. Cost: a frame is read and parsed once for all
 * that are up to date, and not at all while there is no subscriber.
 */
export class EventLog {
  private readonly window: EventWindow;
  private readonly sleepers = new Set<() => void>();
  private readonly waiting = new WaitingReaders();
  private readonly readers = new Set<Reader>();
  private wakes = 0;
  private offAdvance: (() => void) | undefined;

  constructor(
    private readonly storage: EventStorage,
    private readonly feed: ProjectionFeed,
    pause: (ms: number) => Promise<void>,
  ) {
    this.window = new EventWindow(storage, feed, pause, {
      opened: () => this.waiting.beginAt({ index: this.window.after, sequence: this.window.nextSequence - 1 }),
      grew: () => this.wake(),
      // They have not been asked about it, so they look into the stream.
      lost: (index) => {
        if (index > this.waiting.routedTo) this.waiting.releaseAll();
      },
    });
  }

  start(): void {
    this.offAdvance ??= this.feed.onAdvance(() => {
      this.window.refill();
      this.wake(); // what was read before may have become visible
    });
  }

  stop(): void {
    this.offAdvance?.();
    this.offAdvance = undefined;
    this.wake();
    this.waiting.releaseAll();
  }

  /** Lowest index that can still be asked for without loss, at least 1 (API-263). */
  floor(): Promise<number> {
    return eventFloor(this.storage, this.feed.applied);
  }

  /** Highest index a subscriber can have seen, at least 1 (API-263). */
  get head(): number {
    return Math.max(1, this.feed.applied);
  }

  /** How many indexes the subscriber that is furthest behind has yet to be given; 0 when all have everything. O(subscribers). */
  get lag(): number {
    let lag = 0;
    for (const { next, isUpToDate } of this.readers) if (!isUpToDate) lag = Math.max(lag, this.feed.applied - next + 1);
    return lag;
  }

  /**
   * Delivers frames until `signal` is aborted.
   * @throws EventsTrimmedError when the reader was so slow that its position is gone; what `onFrame` throws; when the
   * stream cannot be reached
   */
  async subscribe(subscription: Subscription): Promise<void> {
    await this.window.enter();
    let reader: Reader | undefined;
    try {
      reader = { next: await this.firstIndex(subscription), after: undefined, isUpToDate: false };
      this.readers.add(reader);
      await this.follow(reader, subscription);
    } finally {
      if (reader) this.readers.delete(reader);
      this.window.leave();
    }
  }

  private async follow(reader: Reader, subscription: Subscription): Promise<void> {
    const { signal, interests = EVERYTHING } = subscription;
    const give = async (frame: StoredFrame): Promise<void> => {
      await subscription.onFrame(frame);
      reader.next = frame.index + 1;
      reader.after = frame.sequence;
    };
    let caughtUp = subscription.onCaughtUp;
    while (this.goesOn(signal)) {
      const { wakes } = this;
      const before = reader.next;
      if (reader.next <= this.window.after) {
        await this.giveStored(reader, give, signal);
        // Nothing given, and nothing has happened since it was looked for.
        if (reader.next === before && wakes === this.wakes) await this.sleep(signal);
      } else {
        await this.giveRecent(reader, give, signal);
        if (!this.isUpToDate(reader)) continue;
        reader.isUpToDate = true;
        if (caughtUp && this.feed.events < this.window.nextSequence) {
          caughtUp();
          caughtUp = undefined;
        }
        let waited: Waited | undefined;
        // What is known to be there is still being read, and may be nothing that concerns it.
        if (caughtUp) await this.sleep(signal);
        else if (this.goesOn(signal)) waited = await this.waiting.wait(reader.next, interests, signal);
        reader.isUpToDate = false;
        if (waited) await this.giveConcerning(reader, waited, give, signal);
      }
    }
  }

  private async firstIndex({ fromIndex, replayFrames }: Subscription): Promise<number> {
    if (fromIndex > this.feed.applied) return this.feed.applied + 1;
    if (fromIndex > 0) return fromIndex;
    const { first, last } = await this.storage.bounds();
    const at = Math.max(first, last - (replayFrames ?? DEFAULT_REPLAY_FRAMES) + 1);
    const [part] = at > last ? [] : await this.storage.read(at, 1, READ_BYTES);
    return part === undefined ? this.feed.applied + 1 : part.index;
  }

  /** From the window, as far as it goes. */
  private async giveRecent(
    reader: Reader,
    give: (frame: StoredFrame) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    while (!signal.aborted && reader.next > this.window.after) {
      const frame = this.window.from(reader.next);
      if (!frame || frame.index > this.feed.applied) return;
      await give(frame);
    }
  }

  /** What it has waited for. One that takes so long that the window has lost it goes on in the stream. */
  private async giveConcerning(
    reader: Reader,
    { concerning, to }: Waited,
    give: (frame: StoredFrame) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    for (const { index, sequence } of concerning) {
      [reader.next, reader.after] = [index, sequence];
      const frame = index > this.window.after ? this.window.from(index) : undefined;
      if (!frame || signal.aborted) return;
      await give(frame);
    }
    if (to.index >= reader.next) [reader.next, reader.after] = [to.index + 1, to.sequence];
  }

  /** From the stream, until the window has what comes next. */
  private async giveStored(
    reader: Reader,
    give: (frame: StoredFrame) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const assembler = new FrameAssembler();
    // Who has been given nothing yet begins at the floor; for all others a missing message is a loss.
    let promised = reader.after !== undefined;
    let sequence = reader.after === undefined ? await this.sequenceOf(reader.next) : reader.after + 1;
    while (!signal.aborted && reader.next <= this.window.after) {
      const parts = await this.storage.read(sequence, READ_MESSAGES, READ_BYTES);
      const oldest = parts[0];
      if (promised && (oldest?.sequence ?? Number.POSITIVE_INFINITY) > sequence)
        throw new EventsTrimmedError(oldest?.index ?? this.window.after + 1);
      if (!oldest) reader.next = Math.max(reader.next, this.window.after + 1); // all that was asked for has been trimmed
      for (const part of parts) {
        sequence = part.sequence + 1;
        const frame = assembler.add(part);
        if (!frame || frame.index < reader.next) continue;
        if (frame.index > this.feed.applied || signal.aborted) return;
        await give(frame);
      }
      promised = true;
    }
  }

  /** Sequence of the first message with this index or a higher one. O(log messages) reads. */
  private async sequenceOf(index: number): Promise<number> {
    const bounds = await this.storage.bounds();
    let low = bounds.first;
    let high = bounds.last + 1;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const [part] = await this.storage.read(middle, 1, READ_BYTES);
      if (part && part.index < index) low = part.sequence + 1;
      else high = middle;
    }
    return low;
  }

  /** There is nothing for it that can be given out. */
  private isUpToDate({ next }: Reader): boolean {
    if (next <= this.window.after) return false;
    const frame = this.window.from(next);
    return !frame || frame.index > this.feed.applied;
  }

  private goesOn(signal: AbortSignal): boolean {
    return !signal.aborted && this.offAdvance !== undefined;
  }

  private sleep(signal: AbortSignal): Promise<void> {
    if (!this.goesOn(signal)) return Promise.resolve();
    return new Promise((resolve) => {
      const awake = (): void => {
        this.sleepers.delete(awake);
        signal.removeEventListener('abort', awake);
        resolve();
      };
      this.sleepers.add(awake);
      signal.addEventListener('abort', awake);
    });
  }

  private wake(): void {
    this.wakes += 1;
    this.waiting.route(this.visibleFrom(this.waiting.routedTo + 1));
    for (const awake of this.sleepers) awake();
  }

  /** Frames of the window that may be given out. */
  private *visibleFrom(index: number): Iterable<StoredFrame> {
    for (const frame of this.window.allFrom(index)) {
      if (frame.index > this.feed.applied) return;
      yield frame;
    }
  }
}
