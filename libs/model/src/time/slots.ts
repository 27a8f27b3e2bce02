import { Refusal } from '../refusal.js';

/** Limit of the work that waits for a slot. */
export interface WaitingLimit {
  readonly most: number;
  /** Message of the refusal beyond the limit. */
  readonly refusal: string;
}

interface Waiting {
  readonly begin: () => void;
  next: Waiting | undefined;
}

/**
 * Runs at most a given number of pieces of work at once. Others wait in order of arrival. Limit: `WaitingLimit`;
 * without it, only the callers bound the queue. Cost: O(1) for each piece of work. Memory: the waiting work.
 */
export class Slots {
  private first: Waiting | undefined;
  private last: Waiting | undefined;
  private waiting = 0;
  private inProgress = 0;

  constructor(
    private readonly atOnce: number,
    private readonly limit?: WaitingLimit,
  ) {}

  /** Number of waiting pieces of work. */
  get size(): number {
    return this.waiting;
  }

  /** Runs `work` once a slot is free. @throws Refusal limit if too many wait, and any error of `work` */
  async use<T>(work: () => Promise<T>): Promise<T> {
    if (this.inProgress < this.atOnce) this.inProgress++;
    else await this.slot();
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  private slot(): Promise<void> {
    if (this.limit && this.waiting >= this.limit.most) throw new Refusal('limit', this.limit.refusal);
    this.waiting++;
    return new Promise((begin) => {
      const waiting: Waiting = { begin, next: undefined };
      if (this.last) this.last.next = waiting;
      else this.first = waiting;
      this.last = waiting;
    });
  }

  /** Passes the slot directly to the next in the queue, so that no later work can take it. */
  private leave(): void {
    const next = this.first;
    if (!next) {
      this.inProgress--;
      return;
    }
    this.first = next.next;
    if (!this.first) this.last = undefined;
    this.waiting--;
    next.begin();
  }
}
