import type { StoredFrame } from './event-frame.js';
import { batchesOf } from './event-page.js';
import { EventPages } from './event-pages.js';
import { EVERYTHING, type Interest } from './event-routes.js';
import { type EventStorage, EventWindow, READ_MESSAGES } from './event-window.js';
import { FairTurns } from './fair-turns.js';
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
  /** Only frames with such events need be given; default: all. */
  readonly interests?: readonly Interest[];
  /** Called with all frames that may be wanted, in order, some at a time: the next ones wait for the promise. */
  readonly onFrames: (frames: readonly StoredFrame[]) => void | Promise<void>;
  /** Called once, with the first index that may be given, before any is. */
  readonly onBegin?: (index: number) => void;
  /** Called once, when all that was applied when it began has been given. */
  readonly onCaughtUp?: () => void;
  /** Ends the subscription. */
  readonly signal: AbortSignal;
}

type Give = (frames: readonly StoredFrame[]) => Promise<void>;

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
 * share, filled as the feed says that there is more; one that is behind the window reads pages of the stream, which
 * all that are behind share as well (`EventPages`), until it has caught up with the window. Only frames that the read
 * model has reached are given out (EV-73). Who has all there is waits until something concerns it (`WaitingReaders`).
 * Readers that are behind take turns, a page each, so that thousands of them keep nobody else waiting; one whose
 * connection takes nothing waits by itself, without a turn.
 * Limits: those of the window and of the pages, for all together. Cost: a frame is read and decoded once for all that are
 * up to date, about once for all that come by while its page is kept, and not at all while there is no subscriber.
 */
export class EventLog {
  private readonly window: EventWindow;
  private readonly pages: EventPages;
  private readonly turns = new FairTurns();
  private readonly sleepers = new Set<() => void>();
  private readonly waiting = new WaitingReaders();
  private readonly readers = new Set<Reader>();
  private wakes = 0;
  private offAdvance: (() => void) | undefined;

  constructor(
    storage: EventStorage,
    private readonly feed: ProjectionFeed,
    pause: (ms: number) => Promise<void>,
  ) {
    this.pages = new EventPages(storage, pause);
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
    return this.pages.floor(this.feed.applied);
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
   * @throws EventsTrimmedError when the reader was so slow that its position is gone; what `onFrames` throws; when the
   * stream cannot be reached
   */
  async subscribe(subscription: Subscription): Promise<void> {
    await this.window.enter();
    let reader: Reader | undefined;
    try {
      reader = { next: await this.firstIndex(subscription), after: undefined, isUpToDate: false };
      this.readers.add(reader);
      subscription.onBegin?.(reader.next);
      await this.follow(reader, subscription);
    } finally {
      if (reader) this.readers.delete(reader);
      if (this.readers.size === 0) this.pages.clear();
      this.window.leave();
    }
  }

  private async follow(reader: Reader, subscription: Subscription): Promise<void> {
    const { signal, interests = EVERYTHING } = subscription;
    const give: Give = async (frames) => {
      await subscription.onFrames(frames);
      const last = frames.at(-1);
      if (last) [reader.next, reader.after] = [last.index + 1, last.sequence];
    };
    let caughtUp = subscription.onCaughtUp;
    while (this.goesOn(signal)) {
      const { wakes } = this;
      const before = reader.next;
      if (reader.next <= this.window.after) {
        await this.giveStored(reader, interests, give, signal);
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
    const { first, last } = await this.pages.bounds();
    const at = Math.max(first, last - (replayFrames ?? DEFAULT_REPLAY_FRAMES) + 1);
    const index = at > last ? undefined : await this.pages.indexAt(at);
    return index ?? this.feed.applied + 1;
  }

  /** From the window, as far as it goes. */
  private async giveRecent(reader: Reader, give: Give, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && reader.next > this.window.after) {
      const [batch] = batchesOf(firstOf(this.visibleFrom(reader.next), READ_MESSAGES));
      if (!batch) return;
      await give(batch);
      await this.turns.takeTurn();
    }
  }

  /** What it has waited for. One that takes so long that the window has lost it goes on in the stream. */
  private async giveConcerning(
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

  /** From the stream, until the window has what comes next. */
  private async giveStored(
    reader: Reader,
    interests: readonly Interest[],
    give: Give,
    signal: AbortSignal,
  ): Promise<void> {
    // Who has been given nothing yet begins at the floor; for all others a missing message is a loss.
    let promised = reader.after !== undefined;
    let sequence = reader.after === undefined ? await this.pages.nearIndex(reader.next) : reader.after + 1;
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
      for (const batch of batchesOf(page.concerning(interests, reader.next).filter(({ index }) => index <= applied))) {
        if (signal.aborted) return;
        await give(batch);
      }
      const last = page.frames.at(-1);
      // What has not become visible yet is the next to be given, once it has.
      if (last && last.index > applied) return;
      if (last) reader.next = Math.max(reader.next, last.index + 1);
      reader.after = page.to;
      sequence = page.to + 1;
    }
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

function firstOf<T>(items: Iterable<T>, count: number): T[] {
  const first: T[] = [];
  for (const item of items) {
    first.push(item);
    if (first.length === count) break;
  }
  return first;
}
