import type { Rejection, Txn, Verdict } from './txn.js';

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
  readonly rejected: Rejection | null;
}

/** Entries there is room for at first; the room doubles and halves as it is needed. */
const MIN_CAPACITY = 1_024;
/** In place of a slot: there is none. */
const NONE = -1;

/**
 * The request ids of the de-duplication window, so that a second copy of a transaction changes nothing (ST-6).
 * Part of the state, pruned by envelope time only. Memory: one entry per transaction of the last 150 s of the log, some
 * 120 bytes. In Postgres it is no table of its own: the record of transactions has all of it.
 *
 * A ring in order of index, in columns, and a hash table that leads to the newest entry of each chain; every entry
 * leads to an older one. So the oldest is forgotten by moving on: a link to a slot that is no longer, or that an entry of
 * another chain or a younger one uses, ends the chain. A replay looks here once per transaction, and nearly always finds
 * nothing.
 * Cost: constant for each call, but for `entries`.
 */
export class RequestWindow {
  private capacity = MIN_CAPACITY;
  private ids: string[] = [];
  private hashes = new Int32Array(MIN_CAPACITY);
  private indexes = new Float64Array(MIN_CAPACITY);
  private timesNs = new Float64Array(MIN_CAPACITY);
  /** The next older entry of the same chain, by slot. */
  private older = new Int32Array(MIN_CAPACITY);
  /** Slot of the newest entry of each chain. */
  private newest = new Int32Array(MIN_CAPACITY).fill(NONE);
  /** Why, of the few that were rejected, by index. */
  private readonly rejections = new Map<number, Rejection>();
  /** Most are asked for once, and then remembered. */
  private readonly lastHashed = { requestId: '', hash: 0 };
  /** Slot of the oldest entry. */
  private head = 0;
  private count = 0;

  /** Entries, with those whose request id has come again within the window. */
  get size(): number {
    return this.count;
  }

  /** What was remembered last. */
  get newestEntry(): SeenRequest | undefined {
    return this.count === 0 ? undefined : this.entryAt((this.head + this.count - 1) & (this.capacity - 1));
  }

  /** The verdict for a second copy, or undefined for a first one. */
  verdictFor(txn: Txn): Verdict | undefined {
    const slot = this.slotOf(txn.requestId);
    if (slot === NONE || numberAt(this.timesNs, slot) < txn.timeNs - REQUEST_WINDOW_NS) return undefined;
    const firstIndex = numberAt(this.indexes, slot);
    const rejected = this.rejections.get(firstIndex);
    return rejected ?? { kind: 'noop', result: { firstIndex } satisfies SecondCopy };
  }

  /** What is remembered of a request id, also if it is about to leave the window. */
  find(requestId: string): SeenRequest | undefined {
    const slot = this.slotOf(requestId);
    return slot === NONE ? undefined : this.entryAt(slot);
  }

  /** In order of index. A later copy of an id takes the place of the earlier one. */
  remember({ requestId, index, timeNs, rejected }: SeenRequest): void {
    if (requestId === '') return;
    if (this.count === this.capacity) this.resize(this.capacity * 2);
    const slot = (this.head + this.count) & (this.capacity - 1);
    this.count += 1;
    this.ids[slot] = requestId;
    this.indexes[slot] = index;
    this.timesNs[slot] = timeNs;
    if (rejected !== null) this.rejections.set(index, rejected);
    this.chain(slot, this.hashOf(requestId));
    this.forgetBefore(timeNs - REQUEST_WINDOW_NS);
  }

  /** Oldest first. */
  *entries(): IterableIterator<SeenRequest> {
    for (let i = 0; i < this.count; i++) {
      const slot = (this.head + i) & (this.capacity - 1);
      if (this.slotOf(this.ids[slot] ?? '') === slot) yield this.entryAt(slot);
    }
  }

  private entryAt(slot: number): SeenRequest {
    const index = numberAt(this.indexes, slot);
    const rejected = this.rejections.get(index) ?? null;
    return { requestId: this.ids[slot] ?? '', index, timeNs: numberAt(this.timesNs, slot), rejected };
  }

  private slotOf(requestId: string): number {
    const hash = this.hashOf(requestId);
    const mask = this.capacity - 1;
    let slot = numberAt(this.newest, hash & mask);
    let younger = this.count;
    while (slot !== NONE) {
      const rank = (slot - this.head) & mask;
      const found = numberAt(this.hashes, slot);
      if (rank >= younger || ((found ^ hash) & mask) !== 0) return NONE; // forgotten, or used again by another
      if (found === hash && this.ids[slot] === requestId) return slot;
      younger = rank;
      slot = numberAt(this.older, slot);
    }
    return NONE;
  }

  private chain(slot: number, hash: number): void {
    this.hashes[slot] = hash;
    const chain = hash & (this.capacity - 1);
    this.older[slot] = numberAt(this.newest, chain);
    this.newest[chain] = slot;
  }

  private hashOf(requestId: string): number {
    if (requestId === this.lastHashed.requestId) return this.lastHashed.hash;
    const hash = hashOf(requestId);
    this.lastHashed.requestId = requestId;
    this.lastHashed.hash = hash;
    return hash;
  }

  private forgetBefore(timeNs: number): void {
    while (this.count > 0 && numberAt(this.timesNs, this.head) < timeNs) {
      if (this.rejections.size > 0) this.rejections.delete(numberAt(this.indexes, this.head));
      this.ids[this.head] = '';
      this.head = (this.head + 1) & (this.capacity - 1);
      this.count -= 1;
    }
    if (this.capacity > MIN_CAPACITY && this.count * 8 < this.capacity) this.resize(this.capacity / 2);
  }

  /** O(entries); happens when their number has doubled or fallen to a quarter of what made it grow. */
  private resize(capacity: number): void {
    const { ids, hashes, indexes, timesNs, head, count } = this;
    const mask = this.capacity - 1;
    this.capacity = capacity;
    this.ids = [];
    this.hashes = new Int32Array(capacity);
    this.indexes = new Float64Array(capacity);
    this.timesNs = new Float64Array(capacity);
    this.older = new Int32Array(capacity);
    this.newest = new Int32Array(capacity).fill(NONE);
    this.head = 0;
    for (let slot = 0; slot < count; slot++) {
      const from = (head + slot) & mask;
      this.ids[slot] = ids[from] ?? '';
      this.indexes[slot] = numberAt(indexes, from);
      this.timesNs[slot] = numberAt(timesNs, from);
      this.chain(slot, numberAt(hashes, from));
    }
  }
}

const FNV_PRIME = 16_777_619;

function hashOf(text: string): number {
  let hash = 0;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), FNV_PRIME);
  return hash ^ (hash >>> 15);
}

/** Within bounds: every slot is below the capacity. */
const numberAt = (column: Float64Array | Int32Array, at: number): number => column[at] as number;
