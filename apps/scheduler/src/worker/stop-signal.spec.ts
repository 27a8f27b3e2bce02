import { FakeTime } from '@waybill/model';
import { expect, it } from 'vitest';
import { backoffMs, StopSignal } from './stop-signal.js';

function paused(ms: number, early?: AbortSignal) {
  const time = new FakeTime();
  const signal = new StopSignal(time);
  let ended = false;
  const begin = () => void signal.pause(ms, early).then(() => (ended = true));
  begin();
  return { time, signal, begin, isOver: () => ended };
}

it('a pause ends after its time', async () => {
  const { time, signal, isOver } = paused(100);
  await time.pass(99);
  expect([isOver(), signal.stopped]).toEqual([false, false]);
  await time.pass(1);
  expect(isOver()).toBe(true);
});

it('a stop ends the pause at once, and those after it do not begin', async () => {
  const { time, signal, isOver } = paused(100);
  signal.stop();
  await time.pass(0);
  expect([isOver(), signal.stopped]).toEqual([true, true]);
  let isEnded = false;
  void signal.pause(1_000).then(() => (isEnded = true));
  await time.pass(0);
  expect(isEnded).toBe(true);
});

it('a pause ends early when it is told so, before it or during it', async () => {
  const early = new AbortController();
  const { time, isOver } = paused(100, early.signal);
  await time.pass(10);
  expect(isOver()).toBe(false);
  early.abort();
  await time.pass(0);
  expect(isOver()).toBe(true);
  const again = paused(100, early.signal);
  await again.time.pass(0);
  expect(again.isOver()).toBe(true);
});

it('EB-204: the pause doubles with every attempt up to its limit; without a base there is none', () => {
  expect([0, 1, 2, 3, 4].map((attempt) => backoffMs(attempt, 20, 200))).toEqual([20, 40, 80, 160, 200]);
  expect([31, 62, 63, 5_000].map((attempt) => backoffMs(attempt, 1, 2 ** 62))).toEqual([
    2 ** 31,
    2 ** 62,
    2 ** 62,
    2 ** 62,
  ]);
  expect([backoffMs(3, 0, 200), backoffMs(5_000, 0, 200), backoffMs(3, -5, 200)]).toEqual([0, 0, 0]);
});
