import { FrameAssembler, type StoredFrame, type StoredPart } from './event-frame.js';
import type { ProjectionFeed } from '../feed/projection-feed.js';

/** Frames kept in memory for subscribers that are up to date. */
export const MAX_RECENT_FRAMES = 2_000;
/** Bytes of them. */
export const MAX_RECENT_BYTES = 16 * 1024 * 1024;
/** Messages read from the stream at a time, and their bytes. */
export const READ_MESSAGES = 256;
export const READ_BYTES = 4 * 1024 * 1024;
/** Pause before reading again after the stream did not answer, milliseconds. */
export const READ_RETRY_MS = 250;

/** The stream EVENTS, as it is read. */
export interface EventStorage {
  /** Sequences of the first and last message; `first` is `last + 1` when there is none. */
  bounds(): Promise<{ readonly first: number; readonly last: number }>;
  /** Messages from `sequence` on, oldest first: at least one if there is one, at most `messages`, about `bytes`. */
  readParts(sequence: number, messages: number, bytes: number): Promise<readonly StoredPart[]>;
}

/** Who is told what becomes of the window. */
export interface WindowWatcher {
  /** It begins, empty, behind what the stream holds. */
  opened(): void;
  /** There is more in it. */
  grew(): void;
  /** Frames up to this index are not in it any more, or never were. */
  lost(index: number): void;
}

/**
 * The newest frames of EVENTS in memory, for all subscribers of a process that are up to date.
 *
 * closed ⇄ open, from the first `enter` to the last `leave`. Open, it begins at the end of the stream and reads what the
 * feed says is there, one read at a time, and never to see whether there is more; while the stream does not answer it asks
 * again. Closed, it reads and holds nothing: an API process that nobody follows does not pay for the events.
 * Limits: MAX_RECENT_FRAMES and MAX_RECENT_BYTES.
 */
export class EventWindow {
  /** Frames above this index, up to what is read, are here. */
  after = 0;
  /** Sequence of the message that is read next. */
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

  /** Resolves when it is open. @throws when the stream cannot be reached; then it was not entered */
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

  /** The feed has moved. */
  refill(): void {
    if (!this.isOpen || this.feed.events < this.nextSequence) return;
    this.readAgain = true;
    this.reading ??= this.readNew().finally(() => {
      this.reading = undefined;
    });
  }

  /** The first frame with this index or a higher one. */
  from(index: number): StoredFrame | undefined {
    return this.frames[this.positionOf(index)];
  }

  /** Those with this index or a higher one, in order. */
  *allFrom(index: number): Iterable<StoredFrame> {
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
        // A copy of the stream that is a little behind the one that was written to: ask again.
        if (this.feed.events >= this.nextSequence) await this.again();
      } catch {
        await this.again();
      }
    }
  }

  /** @returns whether something was there */
  private async readOnce(): Promise<boolean> {
    const parts = await this.storage.readParts(this.nextSequence, READ_MESSAGES, READ_BYTES);
    if (!this.isOpen || !parts[0]) return false;
    if (parts[0].sequence > this.nextSequence) this.beginAt(parts[0]);
    for (const part of parts) this.addPart(part);
    this.watcher.grew();
    return true;
  }

  private async again(): Promise<void> {
    await this.pause(READ_RETRY_MS);
    this.readAgain = true;
  }

  private addPart(part: StoredPart): void {
    this.nextSequence = part.sequence + 1;
    const frame = this.assembler.add(part);
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

  /** What would have come next has been trimmed, the beginning of this part's own frame perhaps. */
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
