import type { Rejection, Txn, Verdict } from './txn.js';

/**
 * How long a request ID is remembered, by the envelope's time (ST-6): longer than the stream's duplicate window (120
 * s).
 */
export const REQUEST_WINDOW_NS = 150 * 1e9;

/** Text of a void verdict (ST-15). */
export const STALE_EPOCH = 'stale epoch';

/** The verdict's result for a second copy of a transaction. */
export interface SecondCopy {
  readonly firstIndex: number;
}

/** A request ID inside the window, with the index of its first copy and the reason if that was rejected. */
export interface SeenRequest {
  readonly requestId: string;
  readonly index: number;
  readonly timeNs: number;
  readonly rejected: Rejection | null;
}

/** Initial capacity; it doubles and halves with the number of entries. */
const MIN_CAPACITY = 1_024;
/** Stands for the absence of a slot. */
const NONE = -1;

/**
 * The request IDs of the de-duplication window, which make a second copy of a transaction change nothing (ST-6). Part
 * of the state, and pruned by the envelope's time only. Memory: one entry of some 120 bytes for each transaction of the
 * log's last 150 s. Postgres has no table for it, because the record of transactions contains it.
 *
 * A ring in order of index, stored in columns, and a hash table that leads to the newest entry of each chain; every
 * entry leads to an older one. So forgetting the oldest entry only moves the head: a link ends the chain if it leads to
 * a forgotten slot, or to one that another chain or a younger entry uses. A replay queries the window once for each
 * transaction, and nearly always finds nothing. Cost: O(1) for each call except `entries`.
 */
export class RequestWindow {
  private capacity = MIN_CAPACITY;
  private ids: string[] = [];
  private hashes = new Int32Array(MIN_CAPACITY);
  private indexes = new Float64Array(MIN_CAPACITY);
  private timesNs = new Float64Array(MIN_CAPACITY);
  /** Slot of the next older entry of the same chain. */
  private older = new Int32Array(MIN_CAPACITY);
  /** Slot of the newest entry of each chain. */
  private newest = new Int32Array(MIN_CAPACITY).fill(NONE);
  /** The reasons of the few rejected entries, by index. */
  private readonly rejections = new Map<number, Rejection>();
  /** The last computed hash, as most request IDs are queried once and then stored. */
  private readonly lastHashed = { requestId: '', hash: 0 };
  /** Slot of the oldest entry. */
  private head = 0;
  private count = 0;

  /** Number of entries, including those whose request ID came again within the window. */
  get size(): number {
    return this.count;
  }

  /** The entry that was stored last. */
  get newestEntry(): SeenRequest | undefined {
    return this.count === 0 ? undefined : this.entryAt((this.head + this.count - 1) & (this.capacity - 1));
  }

  /** The verdict for a second copy, undefined for a first one. */
  verdictFor(txn: Txn): Verdict | undefined {
    const slot = this.slotOf(txn.requestId);
    if (slot === NONE || numberAt(this.timesNs, slot) < txn.timeNs - REQUEST_WINDOW_NS) return undefined;
    const firstIndex = numberAt(this.indexes, slot);
    const rejected = this.rejections.get(firstIndex);
    return rejected ?? { kind: 'noop', result: { firstIndex } satisfies SecondCopy };
  }

  /** The entry of a request ID, also if it is about to leave the window. */
  find(requestId: string): SeenRequest | undefined {
    const slot = this.slotOf(requestId);
    return slot === NONE ? undefined : this.entryAt(slot);
  }

  /** Stores an entry, in order of index. A later copy of an ID replaces the earlier one. */
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

  /** All entries, oldest first. */
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
      // The slot was forgotten, or is used again by another entry.
      if (rank >= younger || ((found ^ hash) & mask) !== 0) return NONE;
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

  /** O(entries); happens when their number has doubled, or fallen to a quarter of the size at the last growth. */
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

/** The number in a slot, which is below the capacity. */
const numberAt = (column: Float64Array | Int32Array, at: number): number => column[at] as number;
