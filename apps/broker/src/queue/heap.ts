/** An element of a heap. `heapAt` is the heap's own bookkeeping: its position, or -1 outside. */
export interface HeapElement {
  heapAt: number;
}

/**
 * A binary heap whose elements know their position, so that any of them can be taken out. An element is in at most one
 * heap at a time. Push, pop and remove: O(log n); peek: O(1).
 */
export class Heap<T extends HeapElement> {
  private items: T[] = [];

  /** @param before strict order: true if the first comes out before the second */
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

  /** False if the element is not in this heap. */
  remove(item: T): boolean {
    const at = item.heapAt;
    if (this.items[at] !== item) return false;
    const last = this.items.pop();
    item.heapAt = -1;
    if (last === undefined || last === item) return true;
    this.items[at] = last;
    last.heapAt = at;
    this.rise(last);
    this.sink(last);
    return true;
  }

  /** In no particular order. O(n). */
  values(): IterableIterator<T> {
    return this.items.values();
  }

  private rise(item: T): void {
    while (item.heapAt > 0) {
      const parent = this.items[(item.heapAt - 1) >> 1];
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
