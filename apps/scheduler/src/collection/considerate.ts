import type { Clock } from '@waybill/model';

/** Milliseconds of rest for every millisecond that a deletion took. */
export const REST_PER_WORK = 3;
/** Longest rest. With the longest deletion it stays below the nack timeout, which each deletion starts anew (EB-66). */
export const MAX_REST_MS = 15_000;

/**
 * Runs work and rests in proportion to it, so that a large collection takes a quarter of the capacity of projector,
 * database and brokers, and disturbs readers and writers little. A small collection is one request and does not wait.
 * Keeps only the duration of the previous work.
 */
export class Considerate {
  private restMs = 0;

  constructor(
    private readonly clock: Clock,
    /** A pause that ends early when the worker stops. */
    private readonly pause: (ms: number) => Promise<void>,
  ) {}

  /** Rests for the previous work, then does this one. @throws any error of the work */
  async runAfterRest<T>(work: () => Promise<T>): Promise<T> {
    if (this.restMs > 0) await this.pause(this.restMs);
    const startedAtMs = this.clock.nowMs();
    const done = await work();
    this.restMs = Math.min(MAX_REST_MS, (this.clock.nowMs() - startedAtMs) * REST_PER_WORK);
    return done;
  }
}
