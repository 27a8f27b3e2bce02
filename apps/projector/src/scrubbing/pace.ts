import type { Clock } from '@waybill/model';

/**
 * How long to pause so that reading keeps a rate. What was not read while nobody read is not caught up with: a reader that
 * was away goes on at the same rate.
 */
export class Pace {
  /** When the next byte may be read, milliseconds of the clock. */
  private freeAtMs = 0;

  /** @param clock a monotonic one */
  constructor(
    private readonly bytesPerSecond: number,
    private readonly clock: Clock,
  ) {}

  /** Milliseconds to pause after so many bytes. */
  pauseAfter(bytes: number): number {
    const nowMs = this.clock.nowMs();
    this.freeAtMs = Math.max(this.freeAtMs, nowMs) + (bytes / this.bytesPerSecond) * 1_000;
    return this.freeAtMs - nowMs;
  }
}
