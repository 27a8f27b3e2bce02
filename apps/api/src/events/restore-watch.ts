import type { ProjectionFeed } from '@waybill/projection';

/** Longest wait between two looks, milliseconds; a restore wakes it at once. */
const LOOK_MS = 3_600_000;

/**
 * Knows when the state was last taken back to an archive, and tells whoever must begin anew (OP-46, EV-75).
 * One look at Postgres per restore, and one after announcements were missed.
 */
export class RestoreWatch {
  private readonly stopped = new AbortController();
  private known = 0;

  constructor(
    private readonly feed: Pick<ProjectionFeed, 'watch'>,
    private readonly record: { restoredIndex(): Promise<number> },
    private readonly onRestore: () => void,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Index of the last restore; 0: there was none. */
  get index(): number {
    return this.known;
  }

  /** Follows until `stop`. Resolves when it knows of the restores before. @throws what the database throws */
  async start(): Promise<void> {
    const watch = this.feed.watch([['cluster_meta', '*']]);
    this.known = await this.record.restoredIndex();
    void this.follow(watch);
  }

  stop(): void {
    this.stopped.abort();
  }

  private async follow(watch: ReturnType<ProjectionFeed['watch']>): Promise<void> {
    while (!this.stopped.signal.aborted) {
      if (!(await watch.changed(LOOK_MS, this.stopped.signal))) continue;
      try {
        await this.look();
      } catch (error) {
        this.onError(error);
      }
    }
    watch.close();
  }

  private async look(): Promise<void> {
    const index = await this.record.restoredIndex();
    if (index <= this.known) return;
    this.known = index;
    this.onRestore();
  }
}
