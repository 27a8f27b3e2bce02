import { FrameAssembler, type StoredFrame, type StoredPart } from './event-frame.js';
import type { ProjectionFeed } from '../feed/projection-feed.js';

/** Most frames in memory for subscribers that are up to date. */
export const MAX_RECENT_FRAMES = 2_000;
/** Most bytes of these frames. */
export const MAX_RECENT_BYTES = 16 * 1024 * 1024;
/** Messages per read of the stream, and their bytes. */
export const READ_MESSAGES = 256;
export const READ_BYTES = 4 * 1024 * 1024;
/** Milliseconds before a failed read of the stream is retried. */
export const READ_RETRY_MS = 250;

/** The stream EVENTS, for readers. */
export interface EventStorage {
  /** Returns the sequences of the first and last message. `first` is `last + 1` if there is none. */
  bounds(): Promise<{ readonly first: number; readonly last: number }>;
  /** Reads messages from `sequence` on, oldest first: at least one if one exists, at most `messages`, about `bytes`. */
  readParts(sequence: number, messages: number, bytes: number): Promise<readonly StoredPart[]>;
}

/** Gets notifications of the window. */
export interface WindowWatcher {
  /** The window has opened, empty, at the end of the stream. */
  opened(): void;
  /** The window has more frames. */
  grew(): void;
  /** Frames up to this index are no longer in the window, or never were. */
  lost(index: number): void;
}

/**
 * The newest frames of EVENTS in memory, for all subscribers of a process that are up to date.
 *
 * closed ⇄ open, from the first `enter` to the last `leave`. When it opens, it starts at the end of the stream, and
 * reads the messages that the feed reports, one read at a time and without polling. While the stream does not answer,
 * it retries. Closed, it reads and stores nothing, so an API process without subscribers has no cost. Limits:
 * MAX_RECENT_FRAMES and MAX_RECENT_BYTES.
 */
export class EventWindow {
  /** The window has the frames above this index that were read. */
  after = 0;
  /** Sequence of the next message to read. */
  nextSequence = 0;
  private frames: StoredFrame[] = [];
  private bytes = 0;
  private assembler = new FrameAssembler();
  private isOpen = false;
  private users = 0;
  private opening: Promise<void> = Promise.resolve();
  private reading: Promise<void> | undefined;
  private readAgain = false;

  constructor(
    private readonly storage: EventStorage,
    private readonly feed: Pick<ProjectionFeed, 'events'>,
    private readonly pause: (ms: number) => Promise<void>,
    private readonly watcher: WindowWatcher,
  ) {}

  /** Resolves once the window is open. @throws if the stream cannot be reached; the caller has not entered then */
  async enter(): Promise<void> {
    if (this.users++ === 0) this.opening = this.opening.catch(() => {}).then(() => this.open());
    try {
      await this.opening;
    } catch (error) {
      this.leave();
      throw error;
    }
  }

  leave(): void {
    this.users -= 1;
    if (this.users > 0) return;
    this.isOpen = false;
    this.frames = [];
    this.bytes = 0;
  }

  /** Reads the messages that the feed has reported. */
  refill(): void {
    if (!this.isOpen || this.feed.events < this.nextSequence) return;
    this.readAgain = true;
    this.reading ??= this.readNew().finally(() => {
      this.reading = undefined;
    });
  }

  /** Returns the first frame with this index or a higher one. */
  from(index: number): StoredFrame | undefined {
    return this.frames[this.positionOf(index)];
  }

  /** Yields the frames with this index or a higher one, in order. */
  *framesFrom(index: number): Iterable<StoredFrame> {
    for (let at = this.positionOf(index); at < this.frames.length; at++) yield this.frames[at] as StoredFrame;
  }

  private async open(): Promise<void> {
    await this.reading; // of the last time it was open
    if (this.isOpen) return;
    const { first, last } = await this.storage.bounds();
    const [newest] = last >= first ? await this.storage.readParts(last, 1, READ_BYTES) : [];
    if (this.users === 0) return;
    const halfWritten = newest !== undefined && newest.part < newest.parts;
    this.nextSequence = halfWritten ? last - newest.part + 1 : last + 1;
    this.after = newest ? newest.index - (halfWritten ? 1 : 0) : 0;
    this.assembler = new FrameAssembler();
    this.isOpen = true;
    this.watcher.opened();
    this.refill();
  }

  private async readNew(): Promise<void> {
    while (this.readAgain && this.isOpen) {
      this.readAgain = false;
      try {
        while (this.feed.events >= this.nextSequence && (await this.readOnce()));
        // A replica of the stream may lag slightly behind the leader, so the read is retried.
        if (this.feed.events >= this.nextSequence) await this.scheduleReadAgain();
      } catch {
        await this.scheduleReadAgain();
      }
    }
  }

  /** @returns whether the read returned messages */
  private async readOnce(): Promise<boolean> {
    const parts = await this.storage.readParts(this.nextSequence, READ_MESSAGES, READ_BYTES);
    if (!this.isOpen || !parts[0]) return false;
    if (parts[0].sequence > this.nextSequence) this.beginAt(parts[0]);
    for (const part of parts) this.addPart(part);
    this.watcher.grew();
    return true;
  }

  private async scheduleReadAgain(): Promise<void> {
    await this.pause(READ_RETRY_MS);
    this.readAgain = true;
  }

  private addPart(part: StoredPart): void {
    this.nextSequence = part.sequence + 1;
    const frame = this.assembler.addPart(part);
    if (!frame) return;
    this.frames.push(frame);
    this.bytes += frame.line.length;
    while (this.frames.length > MAX_RECENT_FRAMES || (this.bytes > MAX_RECENT_BYTES && this.frames.length > 1)) {
      const oldest = this.frames.shift();
      if (!oldest) break;
      this.bytes -= oldest.line.length;
      this.after = oldest.index;
      this.watcher.lost(oldest.index);
    }
  }

  /**
   * Restarts the window at a later message, because the next one, perhaps the start of this part's frame, was trimmed.
   */
  private beginAt({ index }: StoredPart): void {
    this.frames = [];
    this.bytes = 0;
    this.after = index - 1;
    this.watcher.lost(index);
  }

  private positionOf(index: number): number {
    let low = 0;
    let high = this.frames.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.frames[middle]?.index ?? 0) < index) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
