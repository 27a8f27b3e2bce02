import { FakeTime } from '@waybill/model';
import { LogFeed } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { AgentLogReaders, MAX_KEPT_LINES, MAX_READERS, QUIET_MS, READER_GONE_MS } from './agent-log-readers.js';

const [DEBUG, INFO] = [20, 30];

function watched() {
  const [time, feed] = [new FakeTime(), new LogFeed()];
  const readers = new AgentLogReaders(feed, time);
  const read = (ReaderID = 'a', Rank = INFO) => readers.readLog({ ReaderID, Rank });
  return { time, feed, read };
}

describe('OP-82: the log of a machine, read from elsewhere', () => {
  it('is answered when a line comes, with all that came since, and after a quiet second without', async () => {
    const { time, feed, read } = watched();
    const first = read();
    feed.offer(INFO, 'one', 'agent');
    expect(await first).toEqual({ Lines: ['one'], Dropped: 0 });
    feed.offer(INFO, 'two', 'agent');
    feed.offer(DEBUG, 'too small', 'agent');
    feed.offer(INFO, 'three', 'agent');
    expect(await read()).toEqual({ Lines: ['two', 'three'], Dropped: 0 });
    const quiet = read();
    await time.pass(QUIET_MS);
    expect(await quiet).toEqual({ Lines: [], Dropped: 0 });
  });

  it('of a reader that is slow so many lines are kept; the rest is counted', async () => {
    const { feed, read } = watched();
    const first = read();
    feed.offer(INFO, 'begun', 'agent');
    await first;
    for (let n = 0; n < MAX_KEPT_LINES + 7; n++) feed.offer(INFO, String(n), 'agent');
    const { Lines, Dropped } = await read();
    expect([Lines.length, Lines[0], Dropped]).toEqual([MAX_KEPT_LINES, '0', 7]);
    feed.offer(INFO, 'again', 'agent');
    expect(await read()).toEqual({ Lines: ['again'], Dropped: 0 });
  });

  it('a call that is repeated before it is answered ends nobody who goes on reading', async () => {
    const { time, feed, read } = watched();
    const twice = [read(), read()];
    await time.pass(QUIET_MS);
    await Promise.all(twice);
    for (const line of ['one', 'two', 'three']) {
      await time.pass(READER_GONE_MS / 2);
      feed.offer(INFO, line, 'agent');
      expect(await read()).toEqual({ Lines: [line], Dropped: 0 });
    }
    await time.pass(READER_GONE_MS);
    expect([feed.lowest, time.pending]).toEqual([Infinity, 0]);
  });

  it('who stops asking is forgotten; readers are apart, and not too many', async () => {
    const { time, feed, read } = watched();
    const all = Array.from({ length: MAX_READERS }, (_, n) => read(`reader ${n}`, n === 0 ? DEBUG : INFO));
    await expect(read('one more')).rejects.toThrow(`${MAX_READERS} watch the log`);
    feed.offer(DEBUG, 'small', 'agent');
    await time.pass(QUIET_MS);
    expect((await Promise.all(all)).map(({ Lines }) => Lines.length)).toEqual([
      1,
      ...Array<number>(MAX_READERS - 1).fill(0),
    ]);
    expect(feed.lowest).toBe(DEBUG);
    await time.pass(READER_GONE_MS);
    expect(feed.lowest).toBe(Infinity);
  });
});
