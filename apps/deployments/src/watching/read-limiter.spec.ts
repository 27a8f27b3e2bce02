import { FakeTime } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { DEFAULT_READS_PER_SECOND, ReadLimiter, readsPerSecond } from './read-limiter.js';

function limited(perSecond?: number) {
  const time = new FakeTime();
  const limiter = new ReadLimiter({ clock: time, timers: time }, perSecond);
  const read: string[] = [];
  const reader = (name: string) => ({ readAllocations: () => void read.push(name) });
  return { time, limiter, read, reader };
}

describe('the rate of reads (DP-612)', () => {
  it('DP-612: a setting of 0 is the default rate', () => {
    expect([readsPerSecond(0), readsPerSecond(7)]).toEqual([DEFAULT_READS_PER_SECOND, 7]);
  });

  it('DP-612: a burst of one second, then the rate, in order, each watcher once', async () => {
    const { time, limiter, read, reader } = limited(2);
    const readers = ['a', 'b', 'c', 'd'].map(reader);
    for (const one of [...readers, ...readers]) limiter.requestRead(one);
    expect(limiter.size).toBe(4);
    await time.pass(0);
    expect(read).toEqual(['a', 'b']);
    await time.pass(499);
    expect(read).toEqual(['a', 'b']);
    await time.pass(1);
    expect(read).toEqual(['a', 'b', 'c']);
    await time.pass(500);
    expect(read).toEqual(['a', 'b', 'c', 'd']);
    expect([limiter.size, limiter.waitedMs]).toEqual([0, 1_500]);
  });

  it('changes and beginnings alternate, and a change of one that begins is its first read', async () => {
    const { time, limiter, read, reader } = limited(1);
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(reader);
    for (const first of [a!, b!, a!]) limiter.requestFirst(first);
    for (const news of [c!, d!]) limiter.requestRead(news);
    expect(limiter.size).toBe(4);
    await time.pass(5_000);
    expect(read).toEqual(['c', 'a', 'd', 'b']);
    limiter.requestFirst(a!);
    limiter.requestRead(a!);
    limiter.requestFirst(a!);
    expect(limiter.size).toBe(1);
    await time.pass(5_000);
    expect(read.slice(4)).toEqual(['a']);
  });

  it('one that is forgotten is not read, and none after the end of the term', async () => {
    const { time, limiter, read, reader } = limited();
    const [a, b, c] = ['a', 'b', 'c'].map(reader);
    limiter.requestRead(a!);
    limiter.requestFirst(b!);
    limiter.requestRead(c!);
    limiter.forget(a!);
    limiter.forget(b!);
    await time.pass(1_000);
    expect(read).toEqual(['c']);
    limiter.requestRead(a!);
    limiter.requestFirst(b!);
    limiter.stop();
    expect(limiter.size).toBe(0);
    await time.pass(1_000);
    expect(read).toEqual(['c']);
  });
});
