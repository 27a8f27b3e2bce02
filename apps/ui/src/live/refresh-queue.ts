import { nameOf, type QueryKey } from './affected-queries.js';

/** The shortest time in milliseconds between two reads of an answer, so that a hundred changes a second cost a few. */
const PAUSE_MS = 100;
/** An answer that takes long is read less often: reading it takes a fifth of the time at most. */
const PAUSE_PER_READ = 4;
/** The longest time in milliseconds between a change and the read that shows it. */
const LONGEST_PAUSE_MS = 5_000;

export interface RefreshMeans {
  /** Reads the answers under a key again if a page shows them. */
  readonly refresh: (key: QueryKey) => Promise<void>;
  readonly pause: (ms: number) => Promise<void>;
  readonly nowMs: () => number;
}

/**
 * RefreshQueue reads stale answers again. Each answer is fresh → being read → paused → fresh, and by itself: a slow list
 * holds up nothing else. Changes of an answer while it is read or paused cause one more read, so that it lags by one read
 * and one pause at most, and is never requested twice at once.
 */
export class RefreshQueue {
  /** The answers that are being read or paused; true if they became stale meanwhile. */
  private readonly busy = new Map<string, boolean>();

  constructor(private readonly means: RefreshMeans) {}

  add(keys: readonly QueryKey[]): void {
    for (const key of keys) {
      const isBusy = this.busy.has(nameOf(key));
      this.busy.set(nameOf(key), isBusy);
      if (!isBusy) void this.refreshWhileStale(key);
    }
  }

  private async refreshWhileStale(key: QueryKey): Promise<void> {
    const { refresh, pause, nowMs } = this.means;
    do {
      this.busy.set(nameOf(key), false);
      const begunMs = nowMs();
      await refresh(key).catch(() => undefined);
      await pause(Math.min(LONGEST_PAUSE_MS, Math.max(PAUSE_MS, (nowMs() - begunMs) * PAUSE_PER_READ)));
    } while (this.busy.get(nameOf(key)) === true);
    this.busy.delete(nameOf(key));
  }
}
