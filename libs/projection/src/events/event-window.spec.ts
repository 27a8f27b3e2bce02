import { SimulatedTime } from '@waybill/model';
import { beforeEach, describe, expect, it } from 'vitest';
import { EventWindow, MAX_RECENT_FRAMES, READ_RETRY_MS } from './event-window.js';
import { MemoryEvents } from './memory-events.fixture.js';

let time: SimulatedTime;
let stream: MemoryEvents;
let feed: { events: number };
let window: EventWindow;
let lost: number[];

beforeEach(() => {
  time = new SimulatedTime();
  stream = new MemoryEvents();
  feed = { events: 0 };
  lost = [];
  window = new EventWindow(stream, feed, (ms) => new Promise((resolve) => void time.after(ms, resolve)), {
    opened: () => {},
    grew: () => {},
    lost: (index) => lost.push(index),
  });
});

/** The projector has written up to here, and the feed has heard of it. */
async function written(last: number): Promise<void> {
  stream.last = last;
  feed.events = last;
  window.refill();
  await settled();
}
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const held = (): number[] => [...window.framesFrom(0)].map(({ index }) => index);

describe('the window on the newest events', () => {
  it('reads nothing while nobody follows, and begins at the end of the stream for the first who does', async () => {
    await written(5);
    expect(stream.reads).toBe(0);
    await window.enter();
    await written(7);
    expect([window.after, held()]).toEqual([5, [6, 7]]);
  });

  it('goes on until the last has left, and then holds nothing', async () => {
    await Promise.all([window.enter(), window.enter()]);
    window.leave();
    await written(1);
    expect(held()).toEqual([1]);
    window.leave();
    const { reads } = stream;
    await written(3);
    expect([held(), stream.reads]).toEqual([[], reads]);
    await window.enter();
    expect([window.after, held()]).toEqual([3, []]);
  });

  it('reads what the feed has told once, and never to see whether there is more', async () => {
    await window.enter();
    const { reads } = stream;
    await written(2);
    stream.last = 3; // the projector is about to announce it
    window.refill();
    await settled();
    expect([stream.reads - reads, held()]).toEqual([1, [1, 2]]);
    await written(4);
    expect([stream.reads - reads, held()]).toEqual([2, [1, 2, 3, 4]]);
  });

  it('is not open for who came while the stream could not be reached, and is for the next', async () => {
    stream.down = true;
    await expect(window.enter()).rejects.toThrow('does not answer');
    stream.down = false;
    await window.enter();
    await written(1);
    expect(held()).toEqual([1]);
  });

  it('asks again while the stream does not answer', async () => {
    await window.enter();
    stream.down = true;
    await written(2);
    stream.down = false;
    time.advance(READ_RETRY_MS);
    await settled();
    expect(held()).toEqual([1, 2]);
  });

  it('keeps so many, and says what it does not keep, and what was trimmed before it was read', async () => {
    await window.enter();
    await written(MAX_RECENT_FRAMES + 2);
    expect([held().length, window.after, lost]).toEqual([MAX_RECENT_FRAMES, 2, [1, 2]]);
    stream.first = MAX_RECENT_FRAMES + 10;
    await written(MAX_RECENT_FRAMES + 10);
    expect([held(), lost.at(-1)]).toEqual([[MAX_RECENT_FRAMES + 10], MAX_RECENT_FRAMES + 10]);
  });
});
