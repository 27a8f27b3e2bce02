import { type CancelTimer, type Timers, NotHolderError } from '@waybill/model';
import type { Delivery } from './delivery.js';

interface Waiter {
  readonly types: readonly string[];
  readonly deliver: (delivery: Delivery | null) => void;
  readonly fail: (error: Error) => void;
}

/**
 * Dequeues that found nothing, first come first served for each type. Those that came while the broker was disabled are
 * parked: they wait for a change of mode only (EB-117). One timer each. Cost: O(types that one asks for).
 */
export class WaitingDequeues {
  /** One waiter is in the set of each of its types. */
  private readonly byType = new Map<string, Set<Waiter>>();
  private readonly parked = new Set<Waiter>();
  /** Types that got something ready while somebody waits for them; empty between operations. */
  private readonly woken = new Set<string>();

  /** @param next takes what is ready of these types, if anything is */
  constructor(
    private readonly timers: Timers,
    private readonly next: (types: readonly string[]) => Delivery | undefined,
  ) {}

  /**
   * @param timeoutMs 0: for ever
   * @param parked the broker is disabled
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
      else for (const type of types) this.ofType(type).add(waiter);
    });
  }

  /** Something of this type is ready; nobody gets it before `serve` (EB-35). */
  wake(type: string): void {
    if (!this.byType.get(type)?.size) return;
    this.woken.delete(type); // a set that is being walked visits what is added again
    this.woken.add(type);
  }

  /** Hands what became ready to those who wait for it, in the order they came (EB-36). */
  serve(): void {
    if (this.woken.size === 0) return;
    for (const type of this.woken) {
      const waiting = this.byType.get(type);
      while (waiting && waiting.size > 0) {
        const [waiter] = waiting;
        if (!waiter) break;
        try {
          const delivery = this.next(waiter.types);
          if (!delivery) break;
          waiter.deliver(delivery);
        } catch (error) {
          waiter.fail(asError(error));
        }
      }
    }
    this.woken.clear();
  }

  /** The mode has changed (EB-116, EB-117). */
  endAll(): void {
    this.woken.clear();
    for (const waiter of this.parked) waiter.deliver(null);
    const waiting = new Set([...this.byType.values()].flatMap((set) => [...set]));
    for (const waiter of waiting) waiter.fail(new NotHolderError('eval broker disabled'));
  }

  private ofType(type: string): Set<Waiter> {
    let set = this.byType.get(type);
    if (!set) this.byType.set(type, (set = new Set()));
    return set;
  }
}

export const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
