import type { Clock } from '@waybill/model';

/** For every millisecond that a deletion took, so many are left to others. */
export const REST_PER_WORK = 3;
/** With the time a deletion may take it stays below the nack timeout, which begins anew with each (EB-66). */
export const MAX_REST_MS = 15_000;

/**
 * Does what it is asked to and rests in proportion, so that a large collection takes a quarter of what projector, database
 * and brokers can do, and people who read and write notice little of it. What a small one finds goes in one request, and
 * is not held up. Each use of it knows only the one before.
 */
export class Considerate {
  private restMs = 0;

  constructor(
    private readonly clock: Clock,
    /** Ends early when the worker is to stop. */
    private readonly pause: (ms: number) => Promise<void>,
  ) {}

  /** Rests for the work before, then works. @throws what the work throws */
  async after<T>(work: () => Promise<T>): Promise<T> {
    if (this.restMs > 0) await this.pause(this.restMs);
    const startedAtMs = this.clock.nowMs();
    const done = await work();
    this.restMs = Math.min(MAX_REST_MS, (this.clock.nowMs() - startedAtMs) * REST_PER_WORK);
    return done;
  }
}
