import { type CancelTimer, type Evaluation, type Timers, NotHolderError } from '@waybill/model';

/** The evaluation that a dequeue returns: one evaluation for one worker. */
export interface Delivery {
  readonly evaluation: Evaluation;
  /** Proves in the worker's requests that they are about this delivery. */
  readonly token: string;
  /** The index that the worker's copy of the state must have applied before it schedules (EB-67). */
  readonly waitIndex: number;
  /** Unix ns: the latest `WaitUntil` of this evaluation and those that it supersedes (EB-56); 0: none has one. */
  readonly dueNs: number;
  /** Unix ms at which the evaluation was enqueued, or nacked last: the begin of its wait (EB-322). */
  readonly enqueuedAtMs: number;
}

interface Waiter {
  readonly types: readonly string[];
  readonly deliver: (delivery: Delivery | null) => void;
  readonly fail: (error: Error) => void;
}

/**
 * Dequeues that found nothing ready, first come first served for each scheduler type. Dequeues that came while the broker
 * was disabled are parked: they wait for a change of mode only (EB-117). Each has one timer. Cost: O(types of the dequeue).
 */
export class WaitingDequeues {
  /** Each waiter is in the set of each of its types. */
  private readonly byType = new Map<string, Set<Waiter>>();
  private readonly parked = new Set<Waiter>();
  /** Types that have both a new ready evaluation and a waiter; empty between operations. */
  private readonly signaled = new Set<string>();

  /** @param deliverNext delivers the next ready evaluation of these types, undefined if there is none */
  constructor(
    private readonly timers: Timers,
    private readonly deliverNext: (types: readonly string[]) => Delivery | undefined,
  ) {}

  /** Dequeues that wait, parked ones included. O(them). */
  get size(): number {
    return this.parked.size + this.waiters().size;
  }

  /**
   * Waits for a ready evaluation of these types.
   *
   * @param timeoutMs 0: no timeout
   * @param parked whether the broker is disabled
   * @returns null after the timeout, or when the dequeue was parked and the mode changed
   * @throws NotHolderError if the broker is disabled meanwhile
   */
  wait(types: readonly string[], timeoutMs: number, parked: boolean): Promise<Delivery | null> {
    return new Promise((resolve, reject) => {
      let stopTimer: CancelTimer = () => {};
      const end = (): void => {
        stopTimer();
        this.parked.delete(waiter);
        for (const type of types) this.byType.get(type)?.delete(waiter);
      };
      const waiter: Waiter = {
        types,
        deliver: (delivery) => {
          end();
          resolve(delivery);
        },
        fail: (error) => {
          end();
          reject(error);
        },
      };
      if (timeoutMs > 0) stopTimer = this.timers.after(timeoutMs, () => waiter.deliver(null));
      if (parked) this.parked.add(waiter);
      else for (const type of types) this.waitersOf(type).add(waiter);
    });
  }

  /** Notes that an evaluation of this type is ready; no waiter gets it before `serve` (EB-35). */
  signal(type: string): void {
    if (!this.byType.get(type)?.size) return;
    this.signaled.delete(type); // a set that is being iterated visits an element that is added again
    this.signaled.add(type);
  }

  /** Delivers the evaluations that became ready to the waiters, in the order in which these came (EB-36). */
  serve(): void {
    // Called several times for each evaluation, mostly for nothing: even an empty set costs memory to iterate and to clear.
    if (this.signaled.size === 0) return;
    for (const type of this.signaled) {
      // A waiter leaves the set when it is answered.
      for (const waiter of this.byType.get(type) ?? []) {
        try {
          const delivery = this.deliverNext(waiter.types);
          if (!delivery) break;
          waiter.deliver(delivery);
        } catch (error) {
          waiter.fail(asError(error));
        }
      }
    }
    this.signaled.clear();
  }

  /** Ends all waits after a change of mode: parked ones with null, the others with an error (EB-116, EB-117). */
  endAll(): void {
    for (const waiter of this.parked) waiter.deliver(null);
    for (const waiter of this.waiters()) waiter.fail(new NotHolderError('eval broker disabled'));
  }

  private waiters(): Set<Waiter> {
    return new Set([...this.byType.values()].flatMap((set) => [...set]));
  }

  private waitersOf(type: string): Set<Waiter> {
    let set = this.byType.get(type);
    if (!set) this.byType.set(type, (set = new Set()));
    return set;
  }
}

export const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
