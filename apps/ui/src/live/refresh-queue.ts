import type { QueryKey } from './affected-queries.js';

/** Least time between two rounds, so that a hundred changes a second cost a few reads. */
const PAUSE_MS = 100;

/**
 * Reads anew what has become old, in rounds: a round begins when the one before is answered, and takes all that became
 * old meanwhile. So a page lags by one read at most, and a slow list is never asked for twice at once.
 */
export class RefreshQueue {
  private readonly waiting = new Map<string, QueryKey>();
  private running = false;

  /**
   * @param refresh reads the answers under a key anew, where a page shows them
   * @param pause waits
   */
  constructor(
    private readonly refresh: (key: QueryKey) => Promise<void>,
    private readonly pause: (ms: number) => Promise<void>,
  ) {}

  add(keys: readonly QueryKey[]): void {
    for (const key of keys) this.waiting.set(key.join('\u0000'), key);
    if (!this.running && this.waiting.size > 0) void this.refreshWaiting();
  }

  private async refreshWaiting(): Promise<void> {
    this.running = true;
    while (this.waiting.size > 0) {
      const keys = [...this.waiting.values()];
      this.waiting.clear();
      await Promise.allSettled(keys.map((key) => this.refresh(key)));
      await this.pause(PAUSE_MS);
    }
    this.running = false;
  }
}
