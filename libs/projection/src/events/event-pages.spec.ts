import { settle } from '@waybill/model';
import { beforeEach, describe, expect, it } from 'vitest';
import type { StoredPart } from './event-frame.js';
import { EventPages, MAX_PAGES_BYTES, MAX_READ_ATTEMPTS, MAX_READS, roundestBetween } from './event-pages.js';
import { READ_MESSAGES } from './event-window.js';
import { MemoryEvents } from './memory-events.fixture.js';

/** A stream that answers when it is told to. */
class SlowEvents extends MemoryEvents {
  readonly asked: number[] = [];
  isHeld = false;
  private readonly held: (() => void)[] = [];

  override async readParts(sequence: number, messages: number): Promise<StoredPart[]> {
    this.asked.push(sequence);
    if (this.isHeld) await new Promise<void>((resolve) => this.held.push(resolve));
    return super.readParts(sequence, messages);
  }

  release(): void {
    this.isHeld = false;
    for (const resolve of this.held.splice(0)) resolve();
  }
}

let stream: SlowEvents;
let pages: EventPages;
let pauses: number;

beforeEach(() => {
  stream = new SlowEvents();
  stream.last = 10_000;
  pauses = 0;
  pages = new EventPages(stream, async () => void pauses++);
});

const rangeAt = async (sequence: number): Promise<[number, number]> => {
  const page = await pages.at(sequence);
  return [page?.from ?? 0, page?.to ?? 0];
};

describe('the pages of EVENTS that readers share', () => {
  it('a thousand that ask for one part read it once, at once or one after the other', async () => {
    stream.isHeld = true;
    const asking = Promise.all(Array.from({ length: 1_000 }, (_, n) => rangeAt(1 + (n % READ_MESSAGES))));
    await settle();
    stream.release();
    expect(new Set((await asking).map(String))).toEqual(new Set([`1,${READ_MESSAGES}`]));
    expect(await rangeAt(7)).toEqual([1, READ_MESSAGES]);
    expect(stream.asked).toEqual([1]);
  });

  it('readers that begin at different places come together at the next page', async () => {
    expect(await rangeAt(100)).toEqual([100, 100 + READ_MESSAGES - 1]);
    expect(await rangeAt(1)).toEqual([1, 99]);
    expect(await rangeAt(100)).toEqual([100, 100 + READ_MESSAGES - 1]);
    expect(stream.asked).toEqual([100, 1]);
  });

  it('so many reads are under way at once, and the others wait for their turn in order', async () => {
    stream.isHeld = true;
    const wanted = Array.from({ length: MAX_READS + 3 }, (_, n) => 1 + n * READ_MESSAGES);
    const asking = Promise.all(wanted.map(rangeAt));
    await settle();
    expect(stream.asked).toEqual(wanted.slice(0, MAX_READS));
    stream.release();
    await asking;
    expect(stream.asked).toEqual(wanted);
  });

  it('a read that fails is made again, so often and no oftener', async () => {
    stream.down = true;
    await expect(pages.at(1)).rejects.toThrow('does not answer');
    await expect(pages.bounds()).rejects.toThrow('does not answer');
    expect([stream.asked.length, pauses]).toEqual([MAX_READ_ATTEMPTS, 2 * (MAX_READ_ATTEMPTS - 1)]);
    stream.down = false;
    expect(await rangeAt(1)).toEqual([1, READ_MESSAGES]);
  });

  it('those that were used last are kept, up to so many bytes', async () => {
    stream.last = 1_000_000;
    stream.jobOf = () => 'x'.repeat(400); // large pages, so that few of them are many bytes
    const { bytes = 1 } = (await pages.at(1)) ?? {};
    const kept = Math.floor(MAX_PAGES_BYTES / bytes) & ~1;
    expect(kept).toBeGreaterThan(10);
    const begins = Array.from({ length: 2 * kept }, (_, n) => 1 + n * READ_MESSAGES);
    for (const at of begins) {
      await pages.at(at);
      await pages.at(1);
    }
    stream.asked.length = 0;
    await pages.at(1);
    for (const at of begins.slice(-kept / 2)) await pages.at(at);
    expect(stream.asked).toEqual([]);
    await pages.at(1 + READ_MESSAGES);
    expect(stream.asked).toEqual([1 + READ_MESSAGES]);
  });

  it('EV-64: a search by index ends at most a page before it, and many searches ask about the same messages', async () => {
    stream.last = 1_000_000;
    const indexes = Array.from({ length: 2_000 }, (_, n) => 500_000 + n);
    for (const index of indexes) {
      const near = await pages.sequenceNearIndex(index);
      expect(near).toBeLessThanOrEqual(index);
      expect(near).toBeGreaterThan(index - READ_MESSAGES - 1);
    }
    expect(stream.asked.length).toBeLessThan(60);
    expect(await pages.sequenceNearIndex(5_000_000)).toBeGreaterThan(1_000_000 - READ_MESSAGES);
  });

  it('API-263: the floor is looked up anew when something was trimmed', async () => {
    expect(await pages.floor(10_000)).toBe(1);
    stream.first = 500;
    expect(await Promise.all([pages.floor(10_000), pages.floor(10_000)])).toEqual([500, 500]);
    expect(await pages.floor(10_000)).toBe(500);
    expect(stream.asked).toEqual([500]);
    stream.first = 600;
    expect(await pages.floor(10_000)).toBe(600);
    stream.first = 10_001;
    expect(await pages.floor(10_000)).toBe(10_001);
  });

  it('EV-69: what was trimmed is not there, and says where it goes on', async () => {
    stream.first = 300;
    const page = await pages.at(200);
    expect([page?.from, page?.begin, page?.frames[0]?.index]).toEqual([200, 300, 300]);
    expect(await pages.at(10_001)).toBeUndefined();
  });
});

it('the roundest number between two is one of them, and every search below it asks about fewer', () => {
  expect(roundestBetween(1, 100)).toBe(64);
  expect(roundestBetween(65, 100)).toBe(96);
  expect(roundestBetween(97, 100)).toBe(98);
  expect(roundestBetween(99, 100)).toBe(99);
  expect(roundestBetween(2 ** 40, 2 ** 40 + 1_000)).toBe(2 ** 40);
});
