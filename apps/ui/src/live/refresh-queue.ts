import type { QueryKey } from './affected-queries.js';

/** The shortest time in milliseconds between two rounds, so that a hundred changes a second cost a few reads. */
const PAUSE_MS = 100;

/**
 * RefreshQueue reads stale answers again, in rounds. A round begins when the one before is answered, and takes all
 * answers that became stale meanwhile. So a page lags by one read at most, and a slow list is never requested twice at
 * once.
 */
export class RefreshQueue {
  private readonly waiting = new Map<string, QueryKey>();
  private running = false;

  /**
   * @param refresh reads the answers under a key again if a page shows them
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
