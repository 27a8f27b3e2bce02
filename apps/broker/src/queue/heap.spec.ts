import { describe, expect, it } from 'vitest';
import { Heap, type HeapElement, NOT_IN_HEAP, RankedHeap } from './heap.js';

/** Repeatable numbers in [0, 1). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

interface Item {
  readonly rank: number;
  readonly name: number;
}

describe('a heap of ranks', () => {
  it.each([1, 2, 3])(
    'gives out the lowest first, among equals by name, whatever comes in between (seed %i)',
    (seed) => {
      const random = numbers(seed);
      const heap = new RankedHeap<Item>((a, b) => a.name < b.name);
      let inside: Item[] = [];
      for (let step = 0; step < 5_000; step++) {
        if (random() < 0.55) {
          const item = { rank: Math.floor(random() * 40) + 2 ** 33, name: step };
          heap.push(item, item.rank);
          inside.push(item);
        } else {
          const [least] = inside.toSorted((a, b) => a.rank - b.rank || a.name - b.name);
          expect(heap.pop()).toBe(least);
          inside = inside.filter((item) => item !== least);
        }
        expect(heap.size).toBe(inside.length);
      }
      const rest = inside.toSorted((a, b) => a.rank - b.rank || a.name - b.name);
      expect(inside.map(() => heap.pop())).toEqual(rest);
      expect(heap.pop()).toBeUndefined();
    },
  );
});

describe('a heap whose elements can be removed', () => {
  interface Placed extends HeapElement {
    readonly rank: number;
  }

  it.each([1, 2, 3])('gives out the first, whatever was added and removed in between (seed %i)', (seed) => {
    const random = numbers(seed);
    const heap = new Heap<Placed>((a, b) => a.rank < b.rank);
    let inside: Placed[] = [];
    for (let step = 0; step < 2_000; step++) {
      const action = random();
      if (action < 0.5) {
        const item = { rank: random(), heapAt: NOT_IN_HEAP };
        heap.push(item);
        inside.push(item);
      } else {
        const least = inside.toSorted((a, b) => a.rank - b.rank)[0];
        expect(heap.peek()).toBe(least);
        const gone = action < 0.75 ? heap.pop() : inside[Math.floor(random() * inside.length)];
        if (action < 0.75) expect(gone).toBe(least);
        else if (gone) expect(heap.remove(gone)).toBe(true);
        inside = inside.filter((item) => item !== gone);
        expect(gone?.heapAt ?? -1).toBe(-1);
      }
      expect(heap.size).toBe(inside.length);
    }
    expect(new Set(heap.values())).toEqual(new Set(inside));
    expect(inside.map(() => heap.pop())).toEqual(inside.toSorted((a, b) => a.rank - b.rank));
  });
});

it('removes no element of another heap, and none twice', () => {
  const [one, other] = [new Heap<HeapElement>(() => false), new Heap<HeapElement>(() => false)];
  const [mine, theirs] = [{ heapAt: NOT_IN_HEAP }, { heapAt: NOT_IN_HEAP }];
  one.push(mine);
  other.push(theirs);
  expect([one.remove(theirs), one.size, other.size]).toEqual([false, 1, 1]);
  expect([one.remove(mine), one.remove(mine), one.size]).toEqual([true, false, 0]);
});
