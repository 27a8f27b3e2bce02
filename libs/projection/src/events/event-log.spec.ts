import { FakeTime } from '@waybill/model';
import { expect, it } from 'vitest';
import type { StoredFrame } from './event-frame.js';
import { EventLog } from './event-log.js';
import { MAX_RECENT_FRAMES } from './event-window.js';
import { MemoryEvents } from './memory-events.fixture.js';
import { ProjectionFeed } from '../feed/projection-feed.js';

/** Lets what is under way come to rest, readers' turns too. */
async function settle(): Promise<void> {
  for (let round = 0; round < 10; round++) await new Promise(setImmediate);
}

function setup() {
  const time = new FakeTime();
  const stream = new MemoryEvents();
  const record = { appliedIndex: async () => stream.last, txnVerdict: async () => undefined };
  const feed = new ProjectionFeed({ record, clock: time, timers: time });
  const log = new EventLog(stream, feed, () => new Promise(setImmediate));
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
  const fast = log.subscribe({ fromIndex: 1, onFrames: () => {}, signal: ends.signal });
  const slow = log.subscribe({
    fromIndex: 3,
    onFrames: oneByOne(() => new Promise<void>((resolve) => (takes = resolve))),
    signal: ends.signal,
  });
  await settle();
  expect(log.lag).toBe(3); // it is being given the third to the fifth together
  for (let n = 0; n < 3; n++) {
    takes();
    await settle();
  }
  expect(log.lag).toBe(0);
  await written(10);
  expect(log.lag).toBe(10);
  for (let n = 0; n < 10; n++) {
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
    log.subscribe({ fromIndex: 1, interests: [['Job', 'job-3']], onFrames: intoOf(of3), signal: ends.signal }),
    log.subscribe({ fromIndex: 1, interests: [['*', 'job-5']], onFrames: intoOf(of5), signal: ends.signal }),
    log.subscribe({ fromIndex: 1, onFrames: intoOf(all), signal: ends.signal }),
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
  const following = [log.subscribe({ fromIndex: 1, onFrames: intoOf(first), signal: ends.signal })];
  await settle();
  stream.down = true;
  await written(10);
  following.push(log.subscribe({ fromIndex: 8, onFrames: intoOf(later), signal: ends.signal }));
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
    onFrames: oneByOne(({ index, events }) => {
      if (events[0]?.keys[0] !== 'mine') return undefined;
      given.push(index);
      return new Promise<void>((resolve) => (takes = resolve));
    }),
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
  takes();
  ends.abort();
  await slow;
});

it('EV-60: a hundred that begin together get every frame, and read the stream about once', async () => {
  const { log, stream, written } = setup();
  await written(3_000);
  const ends = new AbortController();
  const got = Array.from({ length: 100 }, (): number[] => []);
  let inTurn = 0;
  const following = got.map((given, at) =>
    log.subscribe({
      fromIndex: 1 + (at % 70),
      interests: at % 2 === 0 ? [['*', '*']] : [['Job', `job-${2_000 + at}`]],
      onFrames: async (frames) => {
        given.push(...frames.map(({ index }) => index));
        if (at === 7 || at === 8) await new Promise(() => {}); // takes nothing more
        inTurn += 1;
      },
      signal: ends.signal,
    }),
  );
  await expect
    .poll(() => log.lag && got.filter((given) => given.at(-1) === 3_000).length, { timeout: 20_000 })
    .toBe(49);
  for (const [at, given] of got.entries()) {
    if (at === 8) continue;
    if (at % 2 === 1) expect(given).toEqual([2_000 + at]);
    else expect(given).toEqual(Array.from({ length: 3_000 - (at % 70) }, (_, n) => n + 1 + (at % 70)));
  }
  expect(inTurn).toBeGreaterThan(98);
  expect(stream.reads).toBeLessThan(60);
  ends.abort();
  await Promise.all(following.filter((_, at) => at !== 7 && at !== 8));
});

const intoOf =
  (given: number[] = []) =>
  (frames: readonly StoredFrame[]): void =>
    void given.push(...frames.map(({ index }) => index));

const oneByOne =
  (give: (frame: StoredFrame) => Promise<void> | undefined) =>
  async (frames: readonly StoredFrame[]): Promise<void> => {
    for (const frame of frames) await give(frame);
  };
