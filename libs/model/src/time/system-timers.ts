import type { CancelTimer, Timers } from './timers.js';

/** Longest delay of a platform timer, 24.8 days. It would fire a longer one at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Timers of the platform. A longer delay than one timer allows is split into several (EB-42). */
export const systemTimers: Timers = { after: (delayMs, run) => after(delayMs, run) };

/** Timers that do not keep an otherwise idle process alive. */
export const backgroundTimers: Timers = { after: (delayMs, run) => after(delayMs, run, (timer) => timer.unref()) };

function after(delayMs: number, run: () => void, begun: (timer: NodeJS.Timeout) => void = () => {}): CancelTimer {
  let timer: NodeJS.Timeout;
  const wait = (leftMs: number): void => {
    timer = setTimeout(
      () => (leftMs > MAX_TIMER_MS ? wait(leftMs - MAX_TIMER_MS) : run()),
      Math.min(leftMs, MAX_TIMER_MS),
    );
    begun(timer);
  };
  wait(delayMs);
  return () => clearTimeout(timer);
}
