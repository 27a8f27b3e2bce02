import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { MAX_TIMER_MS, systemTimers } from './system-timers.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('EB-42: a delay beyond what a timer holds is waited for to its end, and may be called off on the way', () => {
  const ran: string[] = [];
  systemTimers.after(2 * MAX_TIMER_MS + 5, () => ran.push('late'));
  const cancel = systemTimers.after(MAX_TIMER_MS + 5, () => ran.push('never'));
  vi.advanceTimersByTime(MAX_TIMER_MS + 1);
  cancel();
  vi.advanceTimersByTime(MAX_TIMER_MS + 3);
  expect(ran).toEqual([]);
  vi.advanceTimersByTime(1);
  expect([ran, vi.getTimerCount()]).toEqual([['late'], 0]);
});

it('EB-41: zero, what is below it and what is no number are as soon as possible, never at once', () => {
  let ran = 0;
  for (const delayMs of [0, -5, Number.NaN]) systemTimers.after(delayMs, () => ran++);
  expect(ran).toBe(0);
  vi.advanceTimersByTime(1);
  expect(ran).toBe(3);
});
