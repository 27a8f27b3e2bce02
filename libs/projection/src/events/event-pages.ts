import { type EventPage, readPage } from './event-page.js';
import { eventFloor } from './event-floor.js';
import { type EventStorage, READ_BYTES, READ_MESSAGES, READ_RETRY_MS } from './event-window.js';
import { ReadSlots } from './read-slots.js';

/** Most bytes of cached pages, by their own estimates. The least recently used pages are evicted. */
export const MAX_PAGES_BYTES = 32 * 1024 * 1024;
/** Most cached pages of any size. */
export const MAX_PAGES = 1_024;
/** Number of messages whose index is cached for the search by index. */
export const MAX_KNOWN_INDEXES = 1_024;
/** Most concurrent reads of the stream for all readers of a process. */
export const MAX_READS = 4;
/** Attempts before a read fails. With timeouts and pauses, they take some eleven seconds. */
export const MAX_READ_ATTEMPTS = 5;

/** A page that is being read, and its possible sequences. */
interface Reading {
  readonly from: number;
  readonly until: number;
  readonly page: Promise<EventPage | undefined>;
}

/**
 * Pages of the stream EVENTS for all readers of a process that are behind. Readers of a part that another reader has
 * just read, or is reading, share its page. So a thousand readers that start together read the stream once.
 *
 * Reads wait for a slot (MAX_READS) in order of request and are retried before they fail, so no read fails because of
 * other reads. Limits: MAX_PAGES_BYTES and MAX_PAGES, plus the results of MAX_READS.
 */
export class EventPages {
  private readonly pages = new Map<number, EventPage>();
  /** First sequences of the pages, ascending. */
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

  /** Concurrent callers share one response. @throws if the stream cannot be reached */
  bounds(): Promise<{ readonly first: number; readonly last: number }> {
    this.asking ??= this.readWithRetries(() => this.storage.bounds()).finally(() => {
      this.asking = undefined;
    });
    return this.asking;
  }

  /** Like `eventFloor`, but computed again only after messages were trimmed. @throws if the stream cannot be reached */
  async floor(applied: number): Promise<number> {
    const { first, last } = await this.bounds();
    if (first > last) return eventFloor(this.storage, applied);
    if (this.knownFloor?.first !== first) {
      const floor = this.readWithRetries(() => eventFloor(this.storage, applied));
      this.knownFloor = { first, floor };
      floor.catch(() => (this.knownFloor = undefined));
    }
    return this.knownFloor.floor;
  }

  /**
   * Returns the page with this message, or with the position of a trimmed one. Returns undefined if there is no message
   * from there on. A page that ends before the message shows that only the beginning of a frame exists.
   * @throws if the stream cannot be reached
   */
  async at(sequence: number): Promise<EventPage | undefined> {
    for (let began = 0; ; began++) {
      const kept = this.kept(sequence);
      if (kept) return kept;
      const reading = this.readingOf(sequence);
      if (!reading) return this.readPage(sequence);
      const page = await reading.page;
      if (page && page.to >= sequence) return page;
      // An empty result counts only if it was read after this request, from this message on.
      if (began > 0 && (!page || reading.from === sequence)) return page;
    }
  }

  /**
   * Returns the sequence of a message at or slightly before the first one with this index or a higher one, so that at
   * most READ_MESSAGES must be skipped. O(log messages) reads, at positions that searches for other indexes share.
   * @throws if the stream cannot be reached
   */
  async sequenceNearIndex(index: number): Promise<number> {
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
   * Returns the index of this message's frame or of the next one, or undefined if there is none.
   * @throws if the stream cannot be reached
   */
  indexAt(sequence: number): Promise<number | undefined> {
    const known = this.indexes.get(sequence);
    if (known) return known;
    const found = this.slots.runInSlot(() =>
      this.readWithRetries(async () => (await this.storage.readParts(sequence, 1, READ_BYTES))[0]?.index),
    );
    this.indexes.set(sequence, found);
    const forget = (): unknown => this.indexes.delete(sequence);
    // A missing message may exist at the next request.
    found.then((index) => index === undefined && forget(), forget);
    if (this.indexes.size > MAX_KNOWN_INDEXES) this.indexes.delete(this.indexes.keys().next().value ?? sequence);
    return found;
  }

  /** Drops all pages, once no reader is behind. */
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

  /** Reads at most up to the next cached page. */
  private async readPage(from: number): Promise<EventPage | undefined> {
    const next = this.starts[this.startsUpTo(from)] ?? Number.POSITIVE_INFINITY;
    const until = Math.min(from + READ_MESSAGES, next);
    const page = this.slots.runInSlot(() => this.readWithRetries(() => readPage(this.storage, from, until - from)));
    const reading = { from, until, page };
    this.readings.add(reading);
    try {
      const read = await page;
      if (read && read.to >= from) this.storePage(read);
      return read;
    } finally {
      this.readings.delete(reading);
    }
  }

  private storePage(page: EventPage): void {
    this.dropPage(page.from);
    this.pages.set(page.from, page);
    this.starts.splice(this.startsUpTo(page.from), 0, page.from);
    this.bytes += page.bytes;
    for (const oldest of this.pages.keys()) {
      if (this.pages.size === 1 || (this.bytes <= MAX_PAGES_BYTES && this.pages.size <= MAX_PAGES)) break;
      this.dropPage(oldest);
    }
  }

  private dropPage(from: number): void {
    const page = this.pages.get(from);
    if (!page) return;
    this.pages.delete(from);
    this.starts.splice(this.startsUpTo(from) - 1, 1);
    this.bytes -= page.bytes;
  }

  /** Returns the number of pages that start at this message or before. */
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

  private async readWithRetries<T>(read: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++)
      try {
        return await read();
      } catch (error) {
        if (attempt === MAX_READ_ATTEMPTS) throw error;
        await this.pause(READ_RETRY_MS);
      }
  }
}

/** Returns the number from `low` to below `high` with the highest power of two as a divisor. */
export function roundestBetween(low: number, high: number): number {
  for (let size = 2 ** Math.ceil(Math.log2(high - low + 1)); size > 1; size /= 2) {
    const at = Math.floor((high - 1) / size) * size;
    if (at >= low) return at;
  }
  return low;
}
