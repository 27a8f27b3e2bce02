import { describe, expect, it } from 'vitest';
import type { Clock } from './clock.js';
import { FakeTime } from './fake-time.js';
import { CLOCK_LOOK_MS, WallClockTimers } from './wall-clock-timers.js';

/** Time that passes, and a clock that can be set. */
function setup() {
  const time = new FakeTime();
  let set = 0;
  const clock: Clock = { nowMs: () => time.nowMs() + set };
  const timers = new WallClockTimers({ clock, timers: time });
  const fired: number[] = [];
  const began = clock.nowMs();
  const after = (ms: number) => timers.after(ms, () => fired.push(clock.nowMs() - began));
  return { time, after, fired, setClock: (ms: number) => void (set += ms) };
}

describe('timers that keep to the time of day', () => {
  it('run at their time, in order, and leave nothing behind', async () => {
    const { time, after, fired } = setup();
    after(90_000);
    after(500);
    after(5_000)();
    await time.pass(100_000);
    expect(fired).toEqual([500, 90_000]);
    expect(time.pending).toBe(0);
  });

  it('DP-1804: the clock is set forward by minutes: at most a second late', async () => {
    const { time, after, fired, setClock } = setup();
    after(600_000);
    await time.pass(10_000);
    setClock(300_000);
    await time.pass(600_000);
    expect(fired).toEqual([600_000]);
  });

  it('DP-1804: a clock that was set is told of, within a second, once', async () => {
    const time = new FakeTime();
    let set = 0;
    let jumps = 0;
    const clock: Clock = { nowMs: () => time.nowMs() + set };
    new WallClockTimers({ clock, timers: time }, () => void jumps++).after(600_000, () => {});
    await time.pass(5_000);
    expect(jumps).toBe(0);
    set = -60_000;
    await time.pass(5_000);
    expect(jumps).toBe(1);
  });

  it('DP-1804: it is set beyond their time: within a second', async () => {
    const { time, after, fired, setClock } = setup();
    after(60_000);
    setClock(3_600_000);
    await time.pass(CLOCK_LOOK_MS);
    expect(fired).toEqual([3_600_000 + CLOCK_LOOK_MS]);
  });

  it('DP-1804: it is set back: not early by the time of day', async () => {
    const { time, after, fired, setClock } = setup();
    after(60_000);
    await time.pass(30_000);
    setClock(-20_000);
    await time.pass(60_000);
    expect(fired).toEqual([60_000]);
  });
});
