import { type EventPage, readPage } from './event-page.js';
import { eventFloor } from './event-floor.js';
import { type EventStorage, READ_BYTES, READ_MESSAGES, READ_RETRY_MS } from './event-window.js';
import { ReadSlots } from './read-slots.js';

/** Memory for pages, bytes, by their own estimate; those that were used last are kept. */
export const MAX_PAGES_BYTES = 32 * 1024 * 1024;
/** Pages kept, however small. */
export const MAX_PAGES = 1_024;
/** Messages whose index is remembered, for the search by index. */
export const MAX_KNOWN_INDEXES = 1_024;
/** Reads of the stream at once, for all readers of a process. */
export const MAX_READS = 4;
/** Attempts before a read counts as failed. With the time-out of each and the pauses in between some eleven seconds. */
export const MAX_READ_ATTEMPTS = 5;

/** A page that is being read, and the sequences it may have. */
interface Reading {
  readonly from: number;
  readonly until: number;
  readonly page: Promise<EventPage | undefined>;
}

/**
 * The stream EVENTS for all readers of a process that are behind: who comes to a part that another has just read, or is
 * reading, gets the same page. A thousand readers that begin together read the stream once.
 *
 * Reads wait their turn (MAX_READS) in the order in which they were asked for, and are made again before they fail, so
 * nobody's read fails because others read too. Limits: MAX_PAGES_BYTES and MAX_PAGES beside what MAX_READS bring.
 */
export class EventPages {
  private readonly pages = new Map<number, EventPage>();
  /** Of the pages, ascending. */
  private starts: number[] = [];
  private bytes = 0;
  private readonly readings = new Set<Reading>();
  private readonly indexes = new Map<number, Promise<number | undefined>>();
  private readonly slots = new ReadSlots(MAX_READS);
  private asking: Promise<{ readonly first: number; readonly last: number }> | undefined;
  private knownFloor: { readonly first: number; readonly floor: Promise<number> } | undefined;

  constructor(
    private readonly storage: EventStorage,
    private readonly pause: (ms: number) => Promise<void>,
  ) {}

  /** Who asks while others do gets their answer. @throws when the stream cannot be reached */
  bounds(): Promise<{ readonly first: number; readonly last: number }> {
    this.asking ??= this.patiently(() => this.storage.bounds()).finally(() => {
      this.asking = undefined;
    });
    return this.asking;
  }

  /** As `eventFloor`, looked up anew only when something was trimmed. @throws when the stream cannot be reached */
  async floor(applied: number): Promise<number> {
    const { first, last } = await this.bounds();
    if (first > last) return eventFloor(this.storage, applied);
    if (this.knownFloor?.first !== first) {
      const floor = this.patiently(() => eventFloor(this.storage, applied));
      this.knownFloor = { first, floor };
      floor.catch(() => (this.knownFloor = undefined));
    }
    return this.knownFloor.floor;
  }

  /**
   * The page that has this message, or would if it had not been trimmed; undefined when nothing is left from there on. One
   * that ends before the message says that only the beginning of a frame is there.
   * @throws when the stream cannot be reached
   */
  async at(sequence: number): Promise<EventPage | undefined> {
    for (let began = 0; ; began++) {
      const kept = this.kept(sequence);
      if (kept) return kept;
      const reading = this.readingOf(sequence);
      if (!reading) return this.readPage(sequence);
      const page = await reading.page;
      if (page && page.to >= sequence) return page;
      // That nothing is there counts only if it was read after it was asked for, and from this message on.
      if (began > 0 && (!page || reading.from === sequence)) return page;
    }
  }

  /**
   * Sequence of a message at or a little before the first one with this index or a higher one: at most READ_MESSAGES are
   * to be passed over. O(log messages) reads, at places that searches for other indexes ask about too.
   * @throws when the stream cannot be reached
   */
  async nearIndex(index: number): Promise<number> {
    const bounds = await this.bounds();
    let low = bounds.first;
    let high = bounds.last + 1;
    while (high - low > READ_MESSAGES) {
      const middle = roundestBetween(low, high);
      const found = await this.indexAt(middle);
      if (found !== undefined && found < index) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * Index of the frame that this message belongs to, or of the first one after it; undefined when there is none.
   * @throws when the stream cannot be reached
   */
  indexAt(sequence: number): Promise<number | undefined> {
    const known = this.indexes.get(sequence);
    if (known) return known;
    const found = this.slots.runInSlot(() =>
      this.patiently(async () => (await this.storage.readParts(sequence, 1, READ_BYTES))[0]?.index),
    );
    this.indexes.set(sequence, found);
    const forget = (): unknown => this.indexes.delete(sequence);
    // What is not there yet may be there the next time.
    found.then((index) => index === undefined && forget(), forget);
    if (this.indexes.size > MAX_KNOWN_INDEXES) this.indexes.delete(this.indexes.keys().next().value ?? sequence);
    return found;
  }

  /** Nobody is behind any more. */
  clear(): void {
    this.pages.clear();
    this.indexes.clear();
    this.starts = [];
    this.bytes = 0;
  }

  private kept(sequence: number): EventPage | undefined {
    const page = this.pages.get(this.starts[this.startsUpTo(sequence) - 1] ?? 0);
    if (!page || page.to < sequence) return undefined;
    this.pages.delete(page.from); // it is the one used last now
    this.pages.set(page.from, page);
    return page;
  }

  private readingOf(sequence: number): Reading | undefined {
    for (const reading of this.readings) if (reading.from <= sequence && sequence < reading.until) return reading;
    return undefined;
  }

  /** Not more than up to the next page. */
  private async readPage(from: number): Promise<EventPage | undefined> {
    const next = this.starts[this.startsUpTo(from)] ?? Number.POSITIVE_INFINITY;
    const until = Math.min(from + READ_MESSAGES, next);
    const page = this.slots.runInSlot(() => this.patiently(() => readPage(this.storage, from, until - from)));
    const reading = { from, until, page };
    this.readings.add(reading);
    try {
      const read = await page;
      if (read && read.to >= from) this.keep(read);
      return read;
    } finally {
      this.readings.delete(reading);
    }
  }

  private keep(page: EventPage): void {
    this.drop(page.from);
    this.pages.set(page.from, page);
    this.starts.splice(this.startsUpTo(page.from), 0, page.from);
    this.bytes += page.bytes;
    for (const oldest of this.pages.keys()) {
      if (this.pages.size === 1 || (this.bytes <= MAX_PAGES_BYTES && this.pages.size <= MAX_PAGES)) break;
      this.drop(oldest);
    }
  }

  private drop(from: number): void {
    const page = this.pages.get(from);
    if (!page) return;
    this.pages.delete(from);
    this.starts.splice(this.startsUpTo(from) - 1, 1);
    this.bytes -= page.bytes;
  }

  /** How many pages begin at this message or before. */
  private startsUpTo(sequence: number): number {
    let low = 0;
    let high = this.starts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.starts[middle] ?? 0) <= sequence) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private async patiently<T>(read: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++)
      try {
        return await read();
      } catch (error) {
        if (attempt === MAX_READ_ATTEMPTS) throw error;
        await this.pause(READ_RETRY_MS);
      }
  }
}

/** The number from `low` to below `high` that the highest power of two divides. */
export function roundestBetween(low: number, high: number): number {
  for (let size = 2 ** Math.ceil(Math.log2(high - low + 1)); size > 1; size /= 2) {
    const at = Math.floor((high - 1) / size) * size;
    if (at >= low) return at;
  }
  return low;
}
