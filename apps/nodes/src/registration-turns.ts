import { RpcError } from '@waybill/rpc';

/** Registrations being written at once: half the places that the log has for messages under way, the rest is for others. */
export const MAX_REGISTERING = 128;
/** Those that wait for one of these places; more are told to come back. */
export const MAX_WAITING_REGISTRATIONS = 20_000;

/**
 * Lets registrations be written a few at a time, in order of arrival. When the power returns, a whole cluster registers
 * in one second; given to the log all at once, most would run into its deadline, and a machine that failed asks again
 * only after 15 s to 30 s (AG-31).
 *
 * Limits: MAX_REGISTERING, MAX_WAITING_REGISTRATIONS. Cost: O(1) for each; one that waits holds its request in memory.
 */
export class RegistrationTurns {
  private readonly waiting: (() => void)[] = [];
  private inProgress = 0;

  constructor(
    private readonly atOnce: number = MAX_REGISTERING,
    private readonly maxWaiting: number = MAX_WAITING_REGISTRATIONS,
  ) {}

  /** Those that wait now. */
  get size(): number {
    return this.waiting.length;
  }

  /** @throws RpcError limit when too many wait, and what `work` throws */
  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.inProgress < this.atOnce) this.inProgress++;
    else await this.place();
    try {
      return await work();
    } finally {
      // The place goes straight to the next in line, so that nobody can slip in between.
      const next = this.waiting.shift();
      if (next) next();
      else this.inProgress--;
    }
  }

  private place(): Promise<void> {
    if (this.waiting.length >= this.maxWaiting)
      throw new RpcError('limit', 'too many registrations are waiting; try again');
    return new Promise((resolve) => this.waiting.push(resolve));
  }
}
