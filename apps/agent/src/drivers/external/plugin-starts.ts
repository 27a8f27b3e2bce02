import type { Timers } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';
import { Gate, pause } from '../../waiting/gate.js';

/** The longest time for which a cancelled start holds up the end of its task. */
export const CANCEL_WAIT_MS = 5_000;
const FIRST_LOOK_MS = 250;
/** The longest time for which the task of a cancelled start is looked for, and the interval after CANCEL_WAIT_MS. */
export const SEARCH_MS = 10 * 60_000;
const LOOK_MS = 5_000;
/** The longest wait at the end of the agent. A cancelled start takes CANCEL_WAIT_MS of it. */
export const CLOSE_WAIT_MS = CANCEL_WAIT_MS + 1_000;

export interface PluginStartsDependencies {
  readonly driver: string;
  /** Destroys a task. @returns whether the plugin knew it. @throws the plugin's error */
  readonly destroy: (taskId: string) => Promise<boolean>;
  readonly timers: Timers;
  readonly logger: Logger;
}

/**
 * PluginStarts knows the starts of a plugin that are under way, and removes the tasks of cancelled ones (PG-140).
 *
 * Most plugins do not notice that their caller has left, and finish the start. So the task of a cancelled start is looked
 * for until it is there and destroyed, or for SEARCH_MS. The caller waits for the first CANCEL_WAIT_MS of that. The end
 * of the agent ends a search after this wait. Cost: one call per search every LOOK_MS.
 */
export class PluginStarts {
  private readonly underWay = new Set<Promise<unknown>>();
  private readonly searches = new Map<string, Promise<void>>();
  private readonly stopped = new Gate();

  constructor(private readonly deps: PluginStartsDependencies) {}

  /** Runs a start, so that `close` waits for it. */
  async run<T>(start: () => Promise<T>): Promise<T> {
    const started = start();
    this.underWay.add(started);
    try {
      return await started;
    } finally {
      this.underWay.delete(started);
    }
  }

  /** Says whether the task of a cancelled start is still being looked for. */
  isSearching(taskId: string): boolean {
    return this.searches.has(taskId);
  }

  /** Begins to look for the task of a cancelled start. Resolves when it is over, or after CANCEL_WAIT_MS. Never rejects. */
  async removeCancelled(taskId: string): Promise<void> {
    const over = new Gate();
    const search = this.destroyWhenFound(taskId)
      .catch((error: unknown) => {
        const { logger, driver } = this.deps;
        logger.warn('a task whose start was cancelled cannot be destroyed', { driver, task: taskId, error });
      })
      .finally(() => {
        this.searches.delete(taskId);
        over.open();
      });
    this.searches.set(taskId, search);
    await pause(this.deps.timers, CANCEL_WAIT_MS, over);
  }

  /** Ends the searches, and waits for the starts under way, at most CLOSE_WAIT_MS. The starts have to be cancelled. */
  async close(): Promise<void> {
    this.stopped.open();
    if (this.underWay.size === 0) return;
    const ended = new Gate();
    void Promise.allSettled(this.underWay).then(() => ended.open());
    await pause(this.deps.timers, CLOSE_WAIT_MS, ended);
  }

  /** @throws the plugin's error */
  private async destroyWhenFound(taskId: string): Promise<void> {
    const { driver, destroy, timers, logger } = this.deps;
    for (let waitedMs = 0; waitedMs < SEARCH_MS;) {
      if (await destroy(taskId)) return;
      const isAwaited = waitedMs < CANCEL_WAIT_MS;
      const ms = isAwaited ? FIRST_LOOK_MS : LOOK_MS;
      await pause(timers, ms, ...(isAwaited ? [] : [this.stopped]));
      if (!isAwaited && this.stopped.isOpen) return;
      waitedMs += ms;
    }
    logger.warn('the task of a cancelled start did not appear, and is not looked for any more', {
      driver,
      task: taskId,
    });
  }
}
