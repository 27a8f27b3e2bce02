import { type CancelTimer, type Timers, Refusal } from '@waybill/model';

/** Longest time from a deletion to its projection. If it takes longer, the projector or Postgres is down. */
export const READABLE_LIMIT_MS = 30_000;

/** The read model lags behind the log; collecting more would make it lag further. */
export class ReadModelBehindError extends Refusal {
  override readonly name = 'ReadModelBehindError';
  constructor(
    readonly index: number,
    readonly reached: number,
  ) {
    super('internal', `the read model is at index ${reached} and has not reached ${index}`);
  }
}

interface Waiter {
  readonly index: number;
  readonly settle: (reached: boolean) => void;
}

/**
 * The index that the projector has reached. Garbage collection waits here for each batch, because users' writes wait for the
 * same projector: they come behind one batch of a collection and never behind all of it.
 *
 * `advanceTo` gets every index that the projector announces. A lost announcement does no harm, because the projector
 * repeats it. Limit: READABLE_LIMIT_MS. Cost: O(waiters); a collection has one.
 */
export class ReadModelIndex {
  private reached = 0;
  private readonly waiters = new Set<Waiter>();

  constructor(private readonly timers: Timers) {}

  advanceTo(index: number): void {
    this.reached = Math.max(this.reached, index);
    for (const waiter of this.waiters) if (waiter.index <= this.reached) waiter.settle(true);
  }

  /** @throws ReadModelBehindError after READABLE_LIMIT_MS */
  async waitFor(index: number): Promise<void> {
    if (index <= this.reached) return;
    const reached = await new Promise<boolean>((resolve) => {
      const settle = (isReached: boolean): void => {
        cancel();
        this.waiters.delete(waiter);
        resolve(isReached);
      };
      const cancel: CancelTimer = this.timers.after(READABLE_LIMIT_MS, () => settle(false));
      const waiter: Waiter = { index, settle };
      this.waiters.add(waiter);
    });
    if (!reached) throw new ReadModelBehindError(index, this.reached);
  }
}
