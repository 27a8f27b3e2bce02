import { type CancelTimer, type Timers, Refusal } from '@waybill/model';

/** How long a deletion may take until it can be read. Longer means that the projector or Postgres is down. */
export const READABLE_LIMIT_MS = 30_000;

/** The read model has not followed: collecting more would only keep it from it. */
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
 * Holds back whoever writes much until the read model has it, because users' writes wait for the same projector: they
 * come behind one batch of a collection, never behind all of it.
 *
 * It hears of every index the projector has reached (`heard`). One that is lost does no harm: the projector repeats
 * where it is. Cost: the waiters, of which a collection has one.
 */
export class ReadModelPace {
  private reached = 0;
  private readonly waiters = new Set<Waiter>();

  constructor(private readonly timers: Timers) {}

  heard(index: number): void {
    this.reached = Math.max(this.reached, index);
    for (const waiter of this.waiters) if (waiter.index <= this.reached) waiter.settle(true);
  }

  /** @throws ReadModelBehindError after READABLE_LIMIT_MS */
  async readable(index: number): Promise<void> {
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
