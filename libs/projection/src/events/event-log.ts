import type { StoredFrame } from './event-frame.js';
import { batchesOf } from './event-page.js';
import { EventPages } from './event-pages.js';
import { EVERYTHING, type Interest } from './event-routes.js';
import { type EventStorage, EventWindow, READ_MESSAGES } from './event-window.js';
import { FairTurns } from './fair-turns.js';
import { type Waited, WaitingReaders } from './waiting-readers.js';
import type { ProjectionFeed } from '../feed/projection-feed.js';

/** Default number of frames that a start at index 0 replays (EV-63). */
export const DEFAULT_REPLAY_FRAMES = 100;
/** A subscriber's position was trimmed while it was reading. It has lost events and must be notified (EV-69). */
export class EventsTrimmedError extends Error {
  override readonly name = 'EventsTrimmedError';
  constructor(readonly floor: number) {
    super(`events before index ${floor} are no longer kept`);
  }
}

export interface Subscription {
  /**
   * First index: 0 for the last `replayFrames`, and one above the applied index for new events only (EV-60 to EV-66).
   */
  readonly fromIndex: number;
  readonly replayFrames?: number;
  /** Only frames with such events are delivered. By default all frames. */
  readonly interests?: readonly Interest[];
  /** Called with the frames in order, in groups. The next group waits for the promise. */
  readonly onFrames: (frames: readonly StoredFrame[]) => void | Promise<void>;
  /** Called once before any frame, with the first possible index. */
  readonly onBegin?: (index: number) => void;
  /** Called once, when all frames that were applied at the start have been delivered. */
  readonly onCaughtUp?: () => void;
  /** Ends the subscription when aborted. */
  readonly signal: AbortSignal;
}

type Give = (frames: readonly StoredFrame[]) => Promise<void>;

/** The position of a subscriber: its next index, and the sequence of the last delivered message. */
interface Reader {
  next: number;
  after: number | undefined;
  /** Whether all existing frames were delivered. */
  isUpToDate: boolean;
}

/**
 * The event stream for all subscribers of one process.
 *
 * A subscriber is only an index (EV-69). Subscribers that are up to date share a window of frames in memory, which is
 * filled when the feed reports more frames. A subscriber behind the window reads pages of the stream, which all
 * subscribers that are behind share too (`EventPages`), until it has reached the window. Only frames that the read
 * model has reached are delivered (EV-73). A subscriber that is up to date waits until a frame concerns it
 * (`WaitingReaders`). Subscribers that are behind take turns, one page each, so thousands of them delay no other work.
 * A subscriber with a blocked connection waits by itself, without a turn. Limits: those of the window and the pages,
 * for all subscribers together. Cost: a frame is read and decoded once for all subscribers that are up to date, about
 * once for those that pass while its page is cached, and not at all without subscribers.
 */
export class EventLog {
  private readonly window: EventWindow;
  private readonly pages: EventPages;
  private readonly sleepers = new Set<() => void>();
  private readonly waiting = new WaitingReaders();
  private readonly readers = new Set<Reader>();
  private wakes = 0;
  private offAdvance: (() => void) | undefined;

  constructor(
    storage: EventStorage,
    private readonly feed: ProjectionFeed,
    pause: (ms: number) => Promise<void>,
    private readonly turns = new FairTurns(),
  ) {
    this.pages = new EventPages(storage, pause);
    this.window = new EventWindow(storage, feed, pause, {
      opened: () => this.waiting.beginAt({ index: this.window.after, sequence: this.window.nextSequence - 1 }),
      grew: () => this.routeAndWake(),
      // Waiting readers were not compared with these frames, so they read the stream.
      lost: (index) => {
        if (index > this.waiting.routedTo) this.waiting.releaseAll();
      },
    });
  }

  start(): void {
    this.offAdvance ??= this.feed.onAdvance(() => {
      this.window.refill();
      this.routeAndWake(); // what was read before may have become visible
    });
  }

  stop(): void {
    this.offAdvance?.();
    this.offAdvance = undefined;
    this.routeAndWake();
    this.waiting.releaseAll();
  }

  /** Returns the lowest index that can still be requested without loss, at least 1 (API-263). */
  floor(): Promise<number> {
    return this.pages.floor(this.feed.applied);
  }

  /** The highest index that a subscriber can have seen, at least 1 (API-263). */
  get head(): number {
    return Math.max(1, this.feed.applied);
  }

  /** The number of undelivered indexes of the slowest subscriber, 0 if all are up to date. O(subscribers). */
  get lag(): number {
    let lag = 0;
    for (const { next, isUpToDate } of this.readers) if (!isUpToDate) lag = Math.max(lag, this.feed.applied - next + 1);
    return lag;
  }

  /**
   * Delivers frames until `signal` is aborted.
   * @throws EventsTrimmedError if the reader's position was trimmed; errors of `onFrames`; an error if the stream
   * cannot be reached
   */
  async subscribe(subscription: Subscription): Promise<void> {
    await this.window.enter();
    let reader: Reader | undefined;
    try {
      reader = { next: await this.firstIndex(subscription), after: undefined, isUpToDate: false };
      this.readers.add(reader);
      subscription.onBegin?.(reader.next);
      await this.followReader(reader, subscription);
    } finally {
      if (reader) this.readers.delete(reader);
      if (this.readers.size === 0) this.pages.clear();
      this.window.leave();
    }
  }

  private async followReader(reader: Reader, subscription: Subscription): Promise<void> {
    const { signal, interests = EVERYTHING } = subscription;
    const give: Give = async (frames) => {
      await subscription.onFrames(frames);
      const last = frames.at(-1);
      if (last) [reader.next, reader.after] = [last.index + 1, last.sequence];
    };
    let caughtUp = subscription.onCaughtUp;
    while (this.isSubscribed(signal)) {
      const { wakes } = this;
      const before = reader.next;
      if (reader.next <= this.window.after) {
        await this.deliverStored(reader, interests, give, signal);
        // Nothing was delivered, and nothing happened since the last check.
        if (reader.next === before && wakes === this.wakes) await this.awaitWake(signal);
      } else {
        await this.deliverRecent(reader, give, signal);
        if (!this.isUpToDate(reader)) continue;
        reader.isUpToDate = true;
        if (caughtUp && this.feed.events < this.window.nextSequence) {
          caughtUp();
          caughtUp = undefined;
        }
        let waited: Waited | undefined;
        // The remaining frames are still being read, and perhaps none of them concerns this subscriber.
        if (caughtUp) await this.awaitWake(signal);
        else if (this.isSubscribed(signal)) waited = await this.waiting.wait(reader.next, interests, signal);
        reader.isUpToDate = false;
        if (waited) await this.deliverConcerning(reader, waited, give, signal);
      }
    }
  }

  private async firstIndex({ fromIndex, replayFrames }: Subscription): Promise<number> {
    if (fromIndex > this.feed.applied) return this.feed.applied + 1;
    if (fromIndex > 0) return fromIndex;
    const { first, last } = await this.pages.bounds();
    const at = Math.max(first, last - (replayFrames ?? DEFAULT_REPLAY_FRAMES) + 1);
    const index = at > last ? undefined : await this.pages.indexAt(at);
    return index ?? this.feed.applied + 1;
  }

  /** Delivers frames from the window, as far as it reaches. */
  private async deliverRecent(reader: Reader, give: Give, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && reader.next > this.window.after) {
      const [batch] = batchesOf(firstItems(this.visibleFrom(reader.next), READ_MESSAGES));
      if (!batch) return;
      await give(batch);
      await this.turns.takeTurn();
    }
  }

  /**
   * Delivers the frames for which the reader waited. If the window has dropped them meanwhile, the reader continues in
   * the stream.
   */
  private async deliverConcerning(
    reader: Reader,
    { concerning, to }: Waited,
    give: Give,
    signal: AbortSignal,
  ): Promise<void> {
    for (const { index, sequence } of concerning) {
      [reader.next, reader.after] = [index, sequence];
      const frame = index > this.window.after ? this.window.from(index) : undefined;
      if (!frame || signal.aborted) return;
      await give([frame]);
    }
    if (to.index >= reader.next) [reader.next, reader.after] = [to.index + 1, to.sequence];
  }

  /** Delivers frames from the stream until the window has the next one. */
  private async deliverStored(
    reader: Reader,
    interests: readonly Interest[],
    give: Give,
    signal: AbortSignal,
  ): Promise<void> {
    // A reader without any frame yet starts at the floor. For all others, a missing message is a loss.
    let promised = reader.after !== undefined;
    let sequence = reader.after === undefined ? await this.pages.sequenceNearIndex(reader.next) : reader.after + 1;
    while (!signal.aborted && reader.next <= this.window.after) {
      const { after } = this.window; // all up to here was in the stream before it is read
      const page = await this.pages.at(sequence);
      await this.turns.takeTurn();
      if (promised && (page?.begin ?? Number.POSITIVE_INFINITY) > sequence)
        throw new EventsTrimmedError(page?.frames[0]?.index ?? after + 1);
      promised = true;
      if (!page || page.to < sequence) {
        reader.next = Math.max(reader.next, after + 1); // what was asked for has been trimmed, or never was
        return;
      }
      const { applied } = this.feed;
      for (const batch of batchesOf(
        page.framesConcerning(interests, reader.next).filter(({ index }) => index <= applied),
      )) {
        if (signal.aborted) return;
        await give(batch);
      }
      const last = page.frames.at(-1);
      // The next frame is not visible yet, and is delivered once it is.
      if (last && last.index > applied) return;
      if (last) reader.next = Math.max(reader.next, last.index + 1);
      reader.after = page.to;
      sequence = page.to + 1;
    }
  }

  /** Whether there is no deliverable frame for the reader. */
  private isUpToDate({ next }: Reader): boolean {
    if (next <= this.window.after) return false;
    const frame = this.window.from(next);
    return !frame || frame.index > this.feed.applied;
  }

  private isSubscribed(signal: AbortSignal): boolean {
    return !signal.aborted && this.offAdvance !== undefined;
  }

  private awaitWake(signal: AbortSignal): Promise<void> {
    if (!this.isSubscribed(signal)) return Promise.resolve();
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

  private routeAndWake(): void {
    this.wakes += 1;
    this.waiting.route(this.visibleFrom(this.waiting.routedTo + 1));
    for (const awake of this.sleepers) awake();
  }

  /** Yields the deliverable frames of the window. */
  private *visibleFrom(index: number): Iterable<StoredFrame> {
    for (const frame of this.window.framesFrom(index)) {
      if (frame.index > this.feed.applied) return;
      yield frame;
    }
  }
}

function firstItems<T>(items: Iterable<T>, count: number): T[] {
  const first: T[] = [];
  for (const item of items) {
    first.push(item);
    if (first.length === count) break;
  }
  return first;
}
