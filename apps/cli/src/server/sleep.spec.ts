import { settle } from '@waybill/model';
import { MAX_TIMER_MS } from '@waybill/model/system-timers';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Deadline } from '../events/event-deadline.js';
import { sleep } from './sleep.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('a wait, and the end of -timeout, of more than 24 days are not over at once', async () => {
  let isOver = false;
  const deadline = new Deadline(2 * MAX_TIMER_MS);
  void sleep(2 * MAX_TIMER_MS, new AbortController().signal).then(() => (isOver = true));
  vi.advanceTimersByTime(2 * MAX_TIMER_MS - 1);
  await settle();
  expect([isOver, deadline.signal.aborted]).toEqual([false, false]);
  vi.advanceTimersByTime(1);
  await settle();
  expect([isOver, deadline.signal.aborted]).toEqual([true, true]);
});

it('a wait that is interrupted, also before it began, ends as an interrupt and leaves no timer', async () => {
  const interrupt = new AbortController();
  const slept = sleep(1_000, interrupt.signal);
  interrupt.abort();
  await expect(slept).rejects.toMatchObject({ name: 'AbortError' });
  await expect(sleep(1_000, interrupt.signal)).rejects.toMatchObject({ name: 'AbortError' });
  expect(vi.getTimerCount()).toBe(0);
});
