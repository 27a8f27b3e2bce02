import type { Timers } from '@waybill/model';
import type { TableName } from '@waybill/state';
import { type WatchKey, WHOLE_TABLE } from './watch-keys.js';

/**
 * Most watches of one process. Further ones are refused, so that a flood of blocking queries cannot fill the memory.
 */
export const MAX_WATCHES = 50_000;

export class TooManyWatchesError extends Error {
  override readonly name = 'TooManyWatchesError';
  constructor() {
    super(`too many blocking queries: ${MAX_WATCHES} are waiting already`);
  }
}

/**
 * A watch of a blocking query. Open it before the query runs: it remembers a change in between, so no change is missed
 * (ST-152).
 */
export interface Watch {
  /**
   * Resolves with true when a watched row has changed since the watch was opened or since the last true, at once if it
   * already has. Resolves with false after `timeoutMs` or when `signal` is aborted. Only one call at a time.
   */
  changed(timeoutMs: number, signal?: AbortSignal): Promise<boolean>;
  /** Frees the watch. A pending `changed` resolves with false. Must be called. */
  close(): void;
}

/**
 * Wakes callers that wait for changes of rows, indexed by table and key (ST-158). A change costs its keys and the
 * watches that it wakes, never watches of other rows. Limit: MAX_WATCHES.
 */
export class Watches {
  private readonly byTable = new Map<TableName, Map<string, Set<Woken>>>();
  private open = 0;

  constructor(private readonly timers: Timers) {}

  get size(): number {
    return this.open;
  }

  /** @throws TooManyWatchesError */
  watch(keys: readonly WatchKey[]): Watch {
    if (this.open >= MAX_WATCHES) throw new TooManyWatchesError();
    const watch = new OpenWatch(this.timers, () => {
      this.open -= 1;
      for (const [table, key] of keys) this.removeWatch(table, key, watch);
    });
    this.open += 1;
    for (const [table, key] of keys) this.addWatch(table, key, watch);
    return watch;
  }

  /**
   * Calls `run` synchronously for every change of one of these keys. There is no limit. Returns a function that stops
   * it.
   */
  listen(keys: readonly WatchKey[], run: () => void): () => void {
    const listener: Woken = { wake: run, close: () => {} };
    for (const [table, key] of keys) this.addWatch(table, key, listener);
    return () => {
      for (const [table, key] of keys) this.removeWatch(table, key, listener);
    };
  }

  /** Wakes the watches of changed rows. */
  wake(keys: readonly WatchKey[]): void {
    for (const [table, key] of keys) {
      const watched = this.byTable.get(table);
      if (!watched) continue;
      if (key === WHOLE_TABLE) wakeTable(watched);
      else {
        wakeEach(watched.get(key));
        wakeEach(watched.get(WHOLE_TABLE));
      }
    }
  }

  /** Wakes all watches after announcements were missed. O(watches). */
  wakeAll(): void {
    for (const watched of this.byTable.values()) wakeTable(watched);
  }

  /** Closes all watches. */
  closeAll(): void {
    for (const watched of this.byTable.values())
      for (const set of watched.values()) for (const watch of set) watch.close();
  }

  private addWatch(table: TableName, key: string, watch: Woken): void {
    let watched = this.byTable.get(table);
    if (!watched) this.byTable.set(table, (watched = new Map()));
    const set = watched.get(key);
    if (set) set.add(watch);
    else watched.set(key, new Set([watch]));
  }

  private removeWatch(table: TableName, key: string, watch: Woken): void {
    const watched = this.byTable.get(table);
    const set = watched?.get(key);
    set?.delete(watch);
    if (set?.size === 0) watched?.delete(key);
  }
}

function wakeEach(watches: ReadonlySet<Woken> | undefined): void {
  if (watches) for (const watch of watches) watch.wake();
}

function wakeTable(watched: ReadonlyMap<string, ReadonlySet<Woken>>): void {
  for (const set of watched.values()) wakeEach(set);
}

/** A receiver of changes. */
interface Woken {
  wake(): void;
  close(): void;
}

/** quiet ⇄ changed → closed (from either). */
class OpenWatch implements Watch, Woken {
  private state: 'quiet' | 'changed' | 'closed' = 'quiet';
  private waiter: ((changed: boolean) => void) | undefined;

  constructor(
    private readonly timers: Timers,
    private readonly onClose: () => void,
  ) {}

  changed(timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
    if (this.waiter) throw new Error('this watch is waited for already');
    if (this.state === 'changed') {
      this.state = 'quiet';
      return Promise.resolve(true);
    }
    if (this.state === 'closed' || signal?.aborted || timeoutMs <= 0) return Promise.resolve(false);
    return new Promise((resolve) => {
      const done = (changed: boolean): void => {
        this.waiter = undefined;
        cancel();
        signal?.removeEventListener('abort', aborted);
        resolve(changed);
      };
      const aborted = (): void => done(false);
      const cancel = this.timers.after(timeoutMs, aborted);
      signal?.addEventListener('abort', aborted);
      this.waiter = done;
    });
  }

  wake(): void {
    if (this.waiter) this.waiter(true);
    else if (this.state === 'quiet') this.state = 'changed';
  }

  close(): void {
    if (this.state === 'closed') return;
    this.state = 'closed';
    this.waiter?.(false);
    this.onClose();
  }
}
