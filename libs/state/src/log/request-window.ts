import type { Txn, Verdict } from './txn.js';

/** ST-6: how long a request id is remembered, by envelope time. Longer than the stream's duplicate window (120 s). */
export const REQUEST_WINDOW_NS = 150 * 1e9;

/** ST-15: text of a verdict that is void. */
export const STALE_EPOCH = 'stale epoch';

/** The verdict's result for a second copy of a transaction that counted. */
export interface SecondCopy {
  readonly firstIndex: number;
}

/** A request id inside the window: the index of its first copy and, if that was rejected, why. */
export interface SeenRequest {
  readonly requestId: string;
  readonly index: number;
  readonly timeNs: number;
  readonly rejected: string | null;
}

/** Forgotten entries at the front of the queue before it is cut: keeps the cost of forgetting constant. */
const MAX_FORGOTTEN = 4_096;

/**
 * The request ids of the de-duplication window, so that a second copy of a transaction changes nothing (ST-6).
 * Part of the state, pruned by envelope time only. Memory: one entry per transaction of the last 150 s of the log.
 * In Postgres it is no table of its own: the record of transactions has all of it.
 *
 * A queue in order of index beside the map: a map that loses its oldest entry again and again walks over all it lost.
 * Cost of remembering: constant.
 */
export class RequestWindow {
  private readonly seen = new Map<string, SeenRequest>();
  private queue: SeenRequest[] = [];
  /** Entries of `queue` before this one are forgotten. */
  private head = 0;

  get size(): number {
    return this.seen.size;
  }

  /** The verdict for a second copy, or undefined for a first one. */
  verdictFor(txn: Txn): Verdict | undefined {
    const first = this.seen.get(txn.requestId);
    if (!first || first.timeNs < txn.timeNs - REQUEST_WINDOW_NS) return undefined;
    if (first.rejected === null) return { kind: 'noop', result: { firstIndex: first.index } satisfies SecondCopy };
    return { kind: first.rejected === STALE_EPOCH ? 'void' : 'refused', error: first.rejected };
  }

  /** What is remembered of a request id, also if it is about to leave the window. */
  find(requestId: string): SeenRequest | undefined {
    return this.seen.get(requestId);
  }

  /** In order of index. A later copy of an id takes the place of the earlier one. */
  remember(entry: SeenRequest): void {
    if (entry.requestId === '') return;
    this.seen.set(entry.requestId, entry);
    this.queue.push(entry);
    this.forgetBefore(entry.timeNs - REQUEST_WINDOW_NS);
  }

  /** Oldest first. */
  *entries(): IterableIterator<SeenRequest> {
    for (let i = this.head; i < this.queue.length; i++) {
      const entry = this.queue[i];
      if (entry && this.seen.get(entry.requestId) === entry) yield entry;
    }
  }

  private forgetBefore(timeNs: number): void {
    for (; ; this.head++) {
      const oldest = this.queue[this.head];
      if (!oldest || oldest.timeNs >= timeNs) break;
      if (this.seen.get(oldest.requestId) === oldest) this.seen.delete(oldest.requestId);
    }
    if (this.head < MAX_FORGOTTEN || this.head * 2 < this.queue.length) return;
    this.queue = this.queue.slice(this.head);
    this.head = 0;
  }
}
