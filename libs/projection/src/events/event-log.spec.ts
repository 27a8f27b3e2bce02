import { FakeTime, settle } from '@waybill/model';
import { expect, it } from 'vitest';
import { EventLog } from './event-log.js';
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
  return { log, written };
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
