/** Children of each place. Four of their numbers lie in one cache line, and the heap is half as deep as with two. */
const ARITY = 4;

/**
 * A heap that gives out the element with the lowest number first, among equals the one that is `before`. The numbers lie
 * side by side in an array of their own: to compare two does not touch the elements, which may be anywhere in memory.
 * For elements that are only ever taken from the top; see Heap for others. Push and pop: O(log n); peek: O(1).
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
    const first = this.items[0];
    const item = this.items.pop();
    const rank = this.ranks.pop();
    if (item === undefined || rank === undefined || this.items.length === 0) return item;
    this.sink(item, rank);
    return first;
  }

  /** The element goes where it belongs, from the empty place at the top. */
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

  /** Within bounds, which every caller keeps. */
  private rankAt(at: number): number {
    return this.ranks[at] as number;
  }

  private itemAt(at: number): T {
    return this.items[at] as T;
  }
}
