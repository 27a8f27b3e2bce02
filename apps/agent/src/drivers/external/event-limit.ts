import type { Timers } from '@waybill/model';
import type { TaskEvent } from '../driver.js';

/** The number of events that a task may have per second (PG-124). */
export const MAX_EVENTS_PER_SECOND = 10;
/** A machine does not run more tasks than this. A plugin that invents tasks gets no further. */
const MAX_TASKS = 10_000;
const WINDOW_MS = 1_000;

interface Window {
  passed: number;
  dropped: number;
}

/**
 * EventLimit passes on at most MAX_EVENTS_PER_SECOND events per task, and counts the rest in one more event at the end
 * of the second. Memory: one small entry per task that had an event in the last second, at most MAX_TASKS.
 */
export class EventLimit {
  private readonly windows = new Map<string, Window>();

  constructor(
    private readonly timers: Timers,
    private readonly pass: (event: TaskEvent) => void,
  ) {}

  forwardEvent(event: TaskEvent): void {
    const key = `${event.allocId}/${event.task}`;
    const window = this.windows.get(key) ?? this.openWindow(key, event);
    if (!window) return;
    if (window.passed >= MAX_EVENTS_PER_SECOND) {
      window.dropped++;
      return;
    }
    window.passed++;
    this.pass(event);
  }

  private openWindow(key: string, last: TaskEvent): Window | undefined {
    if (this.windows.size >= MAX_TASKS) return undefined;
    const window: Window = { passed: 0, dropped: 0 };
    this.windows.set(key, window);
    this.timers.after(WINDOW_MS, () => {
      this.windows.delete(key);
      if (window.dropped > 0) this.pass({ ...last, message: `… and ${window.dropped} more`, annotations: {} });
    });
    return window;
  }
}
