import type { Clock } from '@waybill/model';

/**
 * Pace computes the pauses that keep reading at a rate. It does not catch up after a pause of the reader: the reader
 * continues at the same rate.
 */
export class Pace {
  /** The time when the next byte may be read, in milliseconds of the clock. */
  private freeAtMs = 0;

  /** @param clock a monotonic clock */
  constructor(
    private readonly bytesPerSecond: number,
    private readonly clock: Clock,
  ) {}

  /** Returns the milliseconds to pause after reading so many bytes. */
  pauseAfter(bytes: number): number {
    const nowMs = this.clock.nowMs();
    this.freeAtMs = Math.max(this.freeAtMs, nowMs) + (bytes / this.bytesPerSecond) * 1_000;
    return this.freeAtMs - nowMs;
  }
}
