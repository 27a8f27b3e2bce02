import { Heap } from './heap.js';
import type { Tracked } from './tracked-evaluation.js';

interface ReadyQueue {
  readonly heap: Heap<Tracked>;
  unacked: number;
}

/** What can be handed out, by scheduler type, and how much of each type is. Cost: O(log n); of counts, O(types). */
export class ReadyQueues {
  private queues = new Map<string, ReadyQueue>();
  private readyCount = 0;
  private unackedCount = 0;

  /** @param random in [0, 1) */
  constructor(private readonly random: () => number) {}

  get ready(): number {
    return this.readyCount;
  }

  get unacked(): number {
    return this.unackedCount;
  }

  push(tracked: Tracked): void {
    this.queueOf(tracked.queue).heap.push(tracked);
    this.readyCount++;
  }

  /** The next of these types (EB-61, EB-62), undefined if there is none. */
  pop(types: readonly string[]): Tracked | undefined {
    const tracked = this.best(types)?.pop();
    if (tracked) this.readyCount--;
    return tracked;
  }

  /** A delivery out of this queue begins. */
  began(queue: string): void {
    this.queueOf(queue).unacked++;
    this.unackedCount++;
  }

  ended(queue: string): void {
    this.queueOf(queue).unacked--;
    this.unackedCount--;
  }

  byType(): Record<string, { ready: number; unacked: number }> {
    return Object.fromEntries(
      [...this.queues].map(([type, { heap, unacked }]) => [type, { ready: heap.size, unacked }]),
    );
  }

  clear(): void {
    this.queues = new Map();
    this.readyCount = 0;
    this.unackedCount = 0;
  }

  private queueOf(type: string): ReadyQueue {
    let queue = this.queues.get(type);
    if (!queue) this.queues.set(type, (queue = { heap: new Heap<Tracked>(readyBefore), unacked: 0 }));
    return queue;
  }

  /** The queue whose first has the highest priority; by chance among equals. */
  private best(types: readonly string[]): Heap<Tracked> | undefined {
    let best: Heap<Tracked> | undefined;
    let priority = -Infinity;
    let equals = 0;
    for (const type of types) {
      const heap = this.queues.get(type)?.heap;
      const first = heap?.peek();
      if (!first || first.priority < priority) continue;
      equals = first.priority > priority ? 1 : equals + 1;
      priority = first.priority;
      if (equals === 1 || this.random() * equals < 1) best = heap;
    }
    return best;
  }
}

/** EB-48, EB-49. */
function readyBefore(a: Tracked, b: Tracked): boolean {
  if (a.priority !== b.priority) return a.priority > b.priority;
  if (a.createIndex !== b.createIndex) return a.createIndex < b.createIndex;
  return a.evaluation.ID < b.evaluation.ID;
}
