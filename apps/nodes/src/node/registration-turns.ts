import { Refusal } from '@waybill/model';

/** Registrations being written at once: half the places that the log has for messages under way, the rest is for others. */
export const MAX_REGISTERING = 128;
/** Those that wait for one of these places; more are told to come back. */
export const MAX_WAITING_REGISTRATIONS = 20_000;

/** One that waits, and who comes after it. */
interface Waiting {
  readonly begin: () => void;
  next: Waiting | undefined;
}

/**
 * Lets registrations be written a few at a time, in order of arrival. When the power returns, a whole cluster registers
 * in one second; given to the log all at once, most would run into its deadline, and a machine that failed asks again
 * only after 15 s to 30 s (AG-31).
 *
 * Limits: MAX_REGISTERING, MAX_WAITING_REGISTRATIONS. Cost: O(1) for each; one that waits holds its request in memory.
 */
export class RegistrationTurns {
  private first: Waiting | undefined;
  private last: Waiting | undefined;
  private waiting = 0;
  private inProgress = 0;

  constructor(
    private readonly atOnce: number = MAX_REGISTERING,
    private readonly maxWaiting: number = MAX_WAITING_REGISTRATIONS,
  ) {}

  /** Those that wait now. */
  get size(): number {
    return this.waiting;
  }

  /** @throws Refusal limit when too many wait, and what `work` throws */
  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.inProgress < this.atOnce) this.inProgress++;
    else await this.place();
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  private place(): Promise<void> {
    if (this.waiting >= this.maxWaiting) throw new Refusal('limit', 'too many registrations are waiting; try again');
    this.waiting++;
    return new Promise((begin) => {
      const waiting: Waiting = { begin, next: undefined };
      if (this.last) this.last.next = waiting;
      else this.first = waiting;
      this.last = waiting;
    });
  }

  /** The place goes straight to the next in line, so that nobody can slip in between. */
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
