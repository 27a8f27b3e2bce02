/** The `heapAt` of an element that is in no heap. */
export const NOT_IN_HEAP = -1;

/** An element of a `Heap`, which keeps the element's position in `heapAt`, or NOT_IN_HEAP. */
export interface HeapElement {
  heapAt: number;
}

/**
 * A binary heap whose elements know their position, so that any of them can be removed. An element is in at most one
 * heap at a time. Cost of push, pop and remove: O(log n); of peek: O(1).
 */
export class Heap<T extends HeapElement> {
  private items: T[] = [];

  /** @param before strict order: whether the first argument is popped before the second */
  constructor(private readonly before: (a: T, b: T) => boolean) {}

  get size(): number {
    return this.items.length;
  }

  peek(): T | undefined {
    return this.items[0];
  }

  push(item: T): void {
    this.items.push(item);
    item.heapAt = this.items.length - 1;
    this.rise(item);
  }

  pop(): T | undefined {
    const first = this.items[0];
    if (first) this.remove(first);
    return first;
  }

  /** Removes the element. False if it is not in this heap. */
  remove(item: T): boolean {
    const at = item.heapAt;
    if (this.items[at] !== item) return false;
    const last = this.items.pop();
    item.heapAt = NOT_IN_HEAP;
    if (last === undefined || last === item) return true;
    this.items[at] = last;
    last.heapAt = at;
    this.rise(last);
    this.sink(last);
    return true;
  }

  /** All elements, in no particular order. O(n). */
  values(): IterableIterator<T> {
    return this.items.values();
  }

  private rise(item: T): void {
    for (;;) {
      const parent = this.items[(item.heapAt - 1) >> 1]; // the first element has none
      if (!parent || !this.before(item, parent)) return;
      this.swap(item, parent);
    }
  }

  private sink(item: T): void {
    for (;;) {
      const left = this.items[2 * item.heapAt + 1];
      const right = this.items[2 * item.heapAt + 2];
      const child = left && right && this.before(right, left) ? right : left;
      if (!child || !this.before(child, item)) return;
      this.swap(child, item);
    }
  }

  private swap(a: T, b: T): void {
    const at = a.heapAt;
    a.heapAt = b.heapAt;
    b.heapAt = at;
    this.items[a.heapAt] = a;
    this.items[b.heapAt] = b;
  }
}

/** Children of each node. The ranks of four fit into one cache line, and the heap is half as deep as a binary one. */
const ARITY = 4;

/**
 * A heap that pops the element with the lowest rank first, among equal ranks the one that is `before` the other. The ranks
 * are in an array of their own: comparing two ranks does not fetch the elements, which may be anywhere in memory.
 * It removes elements from the top only; `Heap` removes any. Cost of push and pop: O(log n).
 */
export class RankedHeap<T> {
  private readonly ranks: number[] = [];
  private readonly items: T[] = [];

  constructor(private readonly before: (a: T, b: T) => boolean) {}

  get size(): number {
    return this.items.length;
  }

  push(item: T, rank: number): void {
    const { ranks, items } = this;
    let at = items.length;
    items.push(item);
    ranks.push(rank);
    while (at > 0) {
      const parent = (at - 1) >> 2;
      if (!this.comesBefore(rank, item, parent)) break;
      this.move(parent, at);
      at = parent;
    }
    ranks[at] = rank;
    items[at] = item;
  }

  pop(): T | undefined {
    const { ranks, items } = this;
    const first = items[0];
    const item = items.pop();
    const rank = ranks.pop();
    if (items.length > 0) this.sink(item as T, rank as number);
    return first;
  }

  /** Moves the element from the empty place at the top to where it belongs. */
  private sink(item: T, rank: number): void {
    const { ranks, items } = this;
    const { length } = items;
    let at = 0;
    for (let child = 1; child < length; child = at * ARITY + 1) {
      const end = Math.min(child + ARITY, length);
      let least = child;
      for (let other = child + 1; other < end; other++) if (this.isBefore(other, least)) least = other;
      if (this.comesBefore(rank, item, least)) break;
      this.move(least, at);
      at = least;
    }
    ranks[at] = rank;
    items[at] = item;
  }

  private move(from: number, to: number): void {
    this.ranks[to] = this.rankAt(from);
    this.items[to] = this.itemAt(from);
  }

  private isBefore(at: number, other: number): boolean {
    const rank = this.rankAt(at);
    const otherRank = this.rankAt(other);
    return rank !== otherRank ? rank < otherRank : this.before(this.itemAt(at), this.itemAt(other));
  }

  private comesBefore(rank: number, item: T, other: number): boolean {
    const otherRank = this.rankAt(other);
    return rank !== otherRank ? rank < otherRank : this.before(item, this.itemAt(other));
  }

  /** The rank at a position that the caller knows to be within bounds. */
  private rankAt(at: number): number {
    return this.ranks[at] as number;
  }

  private itemAt(at: number): T {
    return this.items[at] as T;
  }
}
