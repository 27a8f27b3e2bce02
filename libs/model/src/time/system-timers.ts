import type { CancelTimer, Timers } from './timers.js';

/** A timer of the platform takes no more, 24.8 days; a longer delay would be over at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Timers of the platform. A delay that is more than one of them takes is waited for in several (EB-42). */
export const systemTimers: Timers = { after: (delayMs, run) => after(delayMs, run) };

/** The same, for work that must not keep a process alive that has nothing else to do. */
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
