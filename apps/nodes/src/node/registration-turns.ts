import { Refusal } from '@waybill/model';

/**
 * Registrations that are written at once: half of the log's places for messages in flight; the rest is for other
 * writers.
 */
export const MAX_REGISTERING = 128;
/** Registrations that may wait for one of these places; further ones are told to retry. */
export const MAX_WAITING_REGISTRATIONS = 20_000;

/** A waiting registration, and its successor in the queue. */
interface Waiting {
  readonly begin: () => void;
  next: Waiting | undefined;
}

/**
 * Limits concurrent registrations, in order of arrival. After a power cut, a whole cluster registers within one second.
 * Sent to the log all at once, most of them would miss its deadline, and a machine retries only after 15 s to 30 s
 * (AG-31).
 *
 * Limits: MAX_REGISTERING, MAX_WAITING_REGISTRATIONS. Cost: O(1) for each; a waiting registration keeps its request in
 * memory.
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

  /** Registrations that wait now. */
  get size(): number {
    return this.waiting;
  }

  /** Runs `work` when a place is free. @throws Refusal limit if too many wait, and any error of `work` */
  async runInTurn<T>(work: () => Promise<T>): Promise<T> {
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

  /** The place passes directly to the next in the queue, so that no later registration can take it. */
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
