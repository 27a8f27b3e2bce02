import type { ProjectionFeed } from '@waybill/projection';

/** The longest wait between two reads in milliseconds. A restore ends it at once. */
const LOOK_MS = 3_600_000;
/** The wait after a failed read, in milliseconds. */
export const LOOK_RETRY_MS = 1_000;

/**
 * RestoreWatch knows when the state was last restored from an archive, and tells streams that must begin anew (OP-46,
 * EV-75). It reads Postgres once per restore, and once after missed announcements.
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

  /** The index of the last restore; 0 if there was none. */
  get index(): number {
    return this.known;
  }

  /** Follows until `stop`. Resolves when earlier restores are known. @throws the errors of the database */
  async start(): Promise<void> {
    const watch = this.feed.watch([['cluster_meta', '*']]);
    this.known = await this.record.restoredIndex();
    void this.followFeed(watch);
  }

  stop(): void {
    this.stopped.abort();
  }

  private async followFeed(watch: ReturnType<ProjectionFeed['watch']>): Promise<void> {
    const { signal } = this.stopped;
    for (let hasFailed = false; ;) {
      await watch.changed(hasFailed ? LOOK_RETRY_MS : LOOK_MS, signal);
      if (signal.aborted) break;
      try {
        await this.checkForRestore();
        hasFailed = false;
      } catch (error) {
        if (!hasFailed) this.onError(error);
        hasFailed = true;
      }
    }
    watch.close();
  }

  private async checkForRestore(): Promise<void> {
    const index = await this.record.restoredIndex();
    if (index <= this.known) return;
    this.known = index;
    this.onRestore();
  }
}
