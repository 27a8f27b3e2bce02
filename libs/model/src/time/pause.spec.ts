import { expect, it } from 'vitest';
import { FakeTime, settle } from './fake-time.js';
import { pause } from './pause.js';

/** A pause of 100 ms, and whether it has ended. */
function paused(time: FakeTime, ...signals: readonly AbortSignal[]) {
  let ended = false;
  void pause(time, 100, ...signals).then(() => (ended = true));
  return async () => {
    await settle();
    return ended;
  };
}

it('a pause ends after its time, and not before', async () => {
  const time = new FakeTime();
  const hasEnded = paused(time);
  await time.pass(99);
  expect(await hasEnded()).toBe(false);
  await time.pass(1);
  expect(await hasEnded()).toBe(true);
});

it('a pause ends when any of its signals is aborted, at once if one was before, and leaves no timer', async () => {
  const time = new FakeTime();
  const [one, other] = [new AbortController(), new AbortController()];
  const hasEnded = paused(time, one.signal, other.signal);
  expect(await hasEnded()).toBe(false);
  other.abort();
  expect([await hasEnded(), time.pending]).toEqual([true, 0]);
  expect([await paused(time, one.signal, other.signal)(), time.pending]).toEqual([true, 0]);
});

it('a pause that is over leaves nobody listening', async () => {
  const time = new FakeTime();
  const stopper = new AbortController();
  const hasEnded = paused(time, stopper.signal);
  await time.pass(100);
  stopper.abort();
  expect([await hasEnded(), time.pending]).toEqual([true, 0]);
});
