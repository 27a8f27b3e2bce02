import type { Txn, Verdict } from './txn.js';

/** ST-6: how long a request id is remembered, by envelope time. Longer than the stream's duplicate window (120 s). */
export const REQUEST_WINDOW_NS = 150 * 1e9;

/** ST-15: text of a verdict that is void. */
export const STALE_EPOCH = 'stale epoch';

/** A request id inside the window: the index of its first copy and, if that was rejected, why. */
export interface SeenRequest {
  readonly requestId: string;
  readonly index: number;
  readonly timeNs: number;
  readonly rejected: string | null;
}

/**
 * The request ids of the de-duplication window, so that a second copy of a transaction changes nothing (ST-6).
 * Part of the state, pruned by envelope time only. Memory: one entry per transaction of the last 150 s of the log.
 * In Postgres it is no table of its own: the record of transactions has all of it.
 */
export class RequestWindow {
  private readonly seen = new Map<string, SeenRequest>();

  /** The verdict for a second copy, or undefined for a first one. */
  verdictFor(txn: Txn): Verdict | undefined {
    const first = this.seen.get(txn.requestId);
    if (!first || first.timeNs < txn.timeNs - REQUEST_WINDOW_NS) return undefined;
    if (first.rejected === null) return { kind: 'noop', result: { firstIndex: first.index } };
    return { kind: first.rejected === STALE_EPOCH ? 'void' : 'refused', error: first.rejected };
  }

  /** What is remembered of a request id, also if it is about to leave the window. */
  find(requestId: string): SeenRequest | undefined {
    return this.seen.get(requestId);
  }

  remember(entry: SeenRequest): void {
    if (entry.requestId === '') return;
    this.seen.delete(entry.requestId); // keeps the map in order of index
    this.seen.set(entry.requestId, entry);
    for (const old of this.seen.values()) {
      if (old.timeNs >= entry.timeNs - REQUEST_WINDOW_NS) break;
      this.seen.delete(old.requestId);
    }
  }

  /** Oldest first. */
  entries(): IterableIterator<SeenRequest> {
    return this.seen.values();
  }
}
