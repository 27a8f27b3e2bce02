import type { Timers } from '@waybill/model';
import { ReplicaBehindError } from './replicated-state.js';

/** Concurrent waits for an index; further ones are refused, so that a stuck log cannot exhaust the memory. */
export const MAX_WAITERS = 20_000;

interface Waiter {
  readonly index: number;
  readonly done: (error?: Error) => void;
}

/**
 * Waiters for an applied index, lowest index first. Cost of waking: O(waiters woken). Adding is a binary search and a
 * move, nearly always at the end, because later waits are for later indexes.
 */
export class IndexWaiters {
  private readonly waiting: Waiter[] = [];

  constructor(private readonly timers: Timers) {}

  get size(): number {
    return this.waiting.length;
  }

  /** @param applied the index applied now, for the error message */
  wait(index: number, timeoutMs: number, applied: () => number): Promise<void> {
    if (this.waiting.length >= MAX_WAITERS) return Promise.reject(new ReplicaBehindError(index, applied()));
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        index,
        done: (error) => {
          cancel();
          if (error) reject(error);
          else resolve();
        },
      };
      const cancel = this.timers.after(timeoutMs, () => {
        const at = this.waiting.indexOf(waiter);
        if (at >= 0) this.waiting.splice(at, 1);
        reject(new ReplicaBehindError(index, applied()));
      });
      this.waiting.splice(this.positionOf(index), 0, waiter);
    });
  }

  /** Resolves the waits for indexes up to `index`. */
  wake(index: number): void {
    let woken = 0;
    while (woken < this.waiting.length && (this.waiting[woken] as Waiter).index <= index) woken++;
    if (woken > 0) for (const waiter of this.waiting.splice(0, woken)) waiter.done();
  }

  /** Fails all waits, because the replica has stopped. */
  fail(error: Error): void {
    for (const waiter of this.waiting.splice(0)) waiter.done(error);
  }

  private positionOf(index: number): number {
    let low = 0;
    let high = this.waiting.length;
    while (low < high) {
      const mid = (low + high) >>> 1;
      if ((this.waiting[mid] as Waiter).index <= index) low = mid + 1;
      else high = mid;
    }
    return low;
  }
}
