import { FakeTime, settle } from '@waybill/model';
import { expect, it } from 'vitest';
import { EventLog } from './event-log.js';
import { MAX_RECENT_FRAMES } from './event-window.js';
import { MemoryEvents } from './memory-events.fixture.js';
import { ProjectionFeed } from '../feed/projection-feed.js';

function setup() {
  const time = new FakeTime();
  const stream = new MemoryEvents();
  const record = { appliedIndex: async () => stream.last, txnVerdict: async () => undefined };
  const feed = new ProjectionFeed({ record, clock: time, timers: time });
  const log = new EventLog(stream, feed, () => Promise.resolve());
  log.start();
  /** So much more has been projected, each index with a frame. */
  const written = async (count: number): Promise<void> => {
    const from = stream.last;
    stream.last += count;
    feed.receive({ from, to: stream.last, appliedAtMs: time.nowMs(), eventSequence: stream.last, entries: [] });
    await settle();
  };
  return { log, stream, written };
}

it('OP-107: the lag of events is that of the subscriber who is furthest behind', async () => {
  const { log, written } = setup();
  const ends = new AbortController();
  let takes = (): void => {};
  await written(5);
  const fast = log.subscribe({ fromIndex: 1, onFrame: () => {}, signal: ends.signal });
  const slow = log.subscribe({
    fromIndex: 3,
    onFrame: () => new Promise<void>((resolve) => (takes = resolve)),
    signal: ends.signal,
  });
  await settle();
  expect(log.lag).toBe(3); // it is being given the third of five
  takes();
  await settle();
  expect(log.lag).toBe(2);
  await written(10);
  expect(log.lag).toBe(12);
  for (let n = 0; n < 12; n++) {
    takes();
    await settle();
  }
  expect(log.lag).toBe(0);
  ends.abort();
  await Promise.all([fast, slow]);
  await written(1);
  expect(log.lag).toBe(0);
});

it('EV-72: who waits for one job is given its frames and no others, however many become visible at once', async () => {
  const { log, stream, written } = setup();
  stream.jobOf = (index) => `job-${index % 10}`;
  const ends = new AbortController();
  const [of3, of5, all]: number[][] = [[], [], []];
  const following = [
    log.subscribe({ fromIndex: 1, interests: [['Job', 'job-3']], onFrame: intoOf(of3), signal: ends.signal }),
    log.subscribe({ fromIndex: 1, interests: [['*', 'job-5']], onFrame: intoOf(of5), signal: ends.signal }),
    log.subscribe({ fromIndex: 1, onFrame: intoOf(all), signal: ends.signal }),
  ];
  await settle();
  await written(1);
  expect([of3, of5, all]).toEqual([[], [], [1]]);
  await written(24);
  expect([of3, of5]).toEqual([
    [3, 13, 23],
    [5, 15, 25],
  ]);
  expect(all).toEqual(Array.from({ length: 25 }, (_, n) => n + 1));
  await written(8);
  expect([of3, of5]).toEqual([
    [3, 13, 23, 33],
    [5, 15, 25],
  ]);
  ends.abort();
  await Promise.all(following);
});

it('EV-64: who begins at an index that is applied and not yet read is given nothing before it', async () => {
  const { log, stream, written } = setup();
  const ends = new AbortController();
  const first: number[] = [];
  const later: number[] = [];
  const following = [log.subscribe({ fromIndex: 1, onFrame: intoOf(first), signal: ends.signal })];
  await settle();
  stream.down = true;
  await written(10);
  following.push(log.subscribe({ fromIndex: 8, onFrame: intoOf(later), signal: ends.signal }));
  await settle();
  stream.down = false;
  await written(2);
  await expect.poll(() => [first.length, later]).toEqual([12, [8, 9, 10, 11, 12]]);
  ends.abort();
  await Promise.all(following);
});

it('EV-69: one that is slow loses none of its frames, though the window has lost them', async () => {
  const { log, stream, written } = setup();
  stream.jobOf = (index) => (index % 1_000 > 997 ? 'mine' : 'others');
  const ends = new AbortController();
  const given: number[] = [];
  let takes = (): void => {};
  const slow = log.subscribe({
    fromIndex: 1,
    interests: [['Job', 'mine']],
    onFrame: ({ index, events }) => {
      if (events[0]?.keys[0] !== 'mine') return undefined;
      given.push(index);
      return new Promise<void>((resolve) => (takes = resolve));
    },
    signal: ends.signal,
  });
  await settle();
  await written(MAX_RECENT_FRAMES); // two of its frames at once, and it is being given the first
  await written(MAX_RECENT_FRAMES + 500);
  const taken = (): readonly number[] => {
    takes();
    return given;
  };
  await expect.poll(taken).toEqual([998, 999, 1_998, 1_999, 2_998, 2_999, 3_998, 3_999]);
  ends.abort();
  await slow;
});

const intoOf =
  (given: number[] = []) =>
  ({ index }: { index: number }): void =>
    void given.push(index);
