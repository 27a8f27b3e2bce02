import type { Clock } from '@waybill/model';
import type { ProjectionFeed, WatchKey } from '@waybill/projection';

/** The longest wait for a row, in milliseconds (AU-144). */
export const AWAIT_MS = 1_000;
/**
 * The largest number of requests of one process that wait for rows which may not exist. Further requests are answered
 * at once (AU-174).
 */
export const MAX_AWAITING = 20;

export interface AwaitedReadsDeps {
  readonly feed: Pick<ProjectionFeed, 'watch'>;
  readonly clock: Clock;
  /** The largest number of requests that wait at a time. */
  readonly most: number;
}

/**
 * AwaitedReads reads rows that this API may not have read yet. A machine may be ahead of the projection for a moment:
 * it shows a key or an allocation that the log has and PostgreSQL does not. A read that finds nothing is repeated at
 * once, when the rows change, and once more after AWAIT_MS.
 * Limit: `most`. If so many requests wait, a read that finds nothing is not repeated.
 */
export class AwaitedReads {
  private waiting = 0;

  constructor(private readonly deps: AwaitedReadsDeps) {}

  /**
   * @param readAgain reads what `read` may have remembered for too long
   * @returns undefined if there is no such row @throws the errors of `read` and `readAgain`; TooManyWatchesError
   */
  async of<Row>(
    keys: readonly WatchKey[],
    read: () => Promise<Row | undefined>,
    readAgain = read,
  ): Promise<Row | undefined> {
    const found = await read();
    if (found !== undefined || this.waiting >= this.deps.most) return found;
    this.waiting++;
    try {
      return await this.whenChanged(keys, readAgain);
    } finally {
      this.waiting--;
    }
  }

  private async whenChanged<Row>(
    keys: readonly WatchKey[],
    read: () => Promise<Row | undefined>,
  ): Promise<Row | undefined> {
    const { feed, clock } = this.deps;
    const untilMs = clock.nowMs() + AWAIT_MS;
    const watch = feed.watch(keys);
    try {
      for (;;) {
        const found = await read();
        const leftMs = untilMs - clock.nowMs();
        const isOver = leftMs <= 0 || leftMs > AWAIT_MS; // the clock may have been set back
        if (found !== undefined || isOver) return found;
        if (!(await watch.changed(leftMs))) return await read();
      }
    } finally {
      watch.close();
    }
  }
}
