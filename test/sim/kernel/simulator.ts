import type { CancelTimer } from '@waybill/model';
import { EventQueue, type ScheduledEvent } from './event-queue.js';
import { History } from './history.js';
import { macrotask } from './real-world.js';

/** Unix milliseconds at which every simulation begins. */
export const BEGINNING_MS = 1_767_225_600_000;
/** Events of one run; more means that something goes round in circles. */
export const MAX_EVENTS = 2_000_000;

export class TooManyEventsError extends Error {
  override readonly name = 'TooManyEventsError';
  constructor(label: string) {
    super(`more than ${MAX_EVENTS} events; the last was "${label}"`);
  }
}

/**
 * Simulated time: what happens, in order. Between two events all microtasks run, so that what an event set off has
 * settled before the next one: real promises, and yet only one possible order. Time stands still while code runs.
 */
export class Simulator {
  readonly history = new History();
  private readonly queue = new EventQueue();
  private now = BEGINNING_MS;
  private orders = 0;
  private executed = 0;
  private failure: Error | undefined;

  /** True time, unix milliseconds. Only the world may know it; processes have clocks of their own. */
  get nowMs(): number {
    return this.now;
  }

  get eventCount(): number {
    return this.executed;
  }

  /** Events that wait. */
  get pending(): number {
    return this.queue.size;
  }

  schedule(delayMs: number, label: string, run: () => void): CancelTimer {
    const event: ScheduledEvent = {
      atMs: this.now + (delayMs > 0 ? delayMs : 0),
      order: this.orders++,
      label,
      run,
      cancelled: false,
    };
    this.queue.push(event);
    return () => {
      event.cancelled = true;
    };
  }

  /** The run cannot go on; `runUntil` throws this. The first one counts. */
  fail(error: Error): void {
    this.failure ??= error;
  }

  /** Runs what happens up to `atMs`, or until `isDone` says so between two events. @throws what `fail` was given */
  runUntil(atMs: number, isDone: () => boolean = () => false): Promise<void> {
    return new Promise((resolve, reject) => {
      const step = (): void => {
        const next = this.failure || isDone() ? undefined : this.queue.peek();
        if (this.failure) return reject(this.failure);
        if (!next || next.atMs > atMs) {
          if (!isDone()) this.now = Math.max(this.now, atMs);
          return resolve();
        }
        this.execute(next);
        macrotask(step);
      };
      macrotask(step);
    });
  }

  private execute(event: ScheduledEvent): void {
    this.queue.pop();
    this.now = event.atMs;
    if (++this.executed > MAX_EVENTS) this.fail(new TooManyEventsError(event.label));
    this.history.addTime(event.atMs);
    this.history.add(event.label);
    try {
      event.run();
    } catch (error) {
      this.fail(error instanceof Error ? error : new Error(String(error)));
    }
  }
}
