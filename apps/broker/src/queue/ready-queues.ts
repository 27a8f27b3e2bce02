import { RankedHeap } from './ranked-heap.js';
import type { Tracked, ReadyQueue, Level } from './tracked-evaluation.js';

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

  /** The queue of a scheduler type. An evaluation keeps its queue, so that this is asked once for each. */
  of(type: string): ReadyQueue {
    let queue = this.queues.get(type);
    if (!queue) this.queues.set(type, (queue = { type, levels: [], ready: 0, unacked: 0 }));
    return queue;
  }

  push(tracked: Tracked): void {
    const { queue } = tracked;
    levelOf(queue, tracked.evaluation.Priority).heap.push(tracked, tracked.evaluation.CreateIndex);
    queue.ready++;
    this.readyCount++;
  }

  /** The next of these types (EB-61, EB-62), undefined if there is none. */
  pop(types: readonly string[]): Tracked | undefined {
    const queue = this.best(types);
    const level = queue?.levels[0];
    if (!queue || !level) return undefined;
    const tracked = level.heap.pop();
    if (level.heap.size === 0) queue.levels.shift();
    queue.ready--;
    this.readyCount--;
    return tracked;
  }

  /** A delivery out of this queue begins. */
  began(queue: ReadyQueue): void {
    queue.unacked++;
    this.unackedCount++;
  }

  ended(queue: ReadyQueue): void {
    queue.unacked--;
    this.unackedCount--;
  }

  byType(): Record<string, { ready: number; unacked: number }> {
    return Object.fromEntries([...this.queues].map(([type, { ready, unacked }]) => [type, { ready, unacked }]));
  }

  clear(): void {
    this.queues = new Map();
    this.readyCount = 0;
    this.unackedCount = 0;
  }

  /** The queue whose first has the highest priority; by chance among equals. */
  private best(types: readonly string[]): ReadyQueue | undefined {
    let best: ReadyQueue | undefined;
    let priority = -Infinity;
    let equals = 0;
    for (const type of types) {
      const queue = this.queues.get(type);
      const level = queue?.levels[0];
      if (!level || level.priority < priority) continue;
      equals = level.priority > priority ? 1 : equals + 1;
      priority = level.priority;
      if (equals === 1 || this.random() * equals < 1) best = queue;
    }
    return best;
  }
}

/** O(priorities in use). */
function levelOf({ levels }: ReadyQueue, priority: number): Level {
  const at = levels.findIndex((level) => level.priority <= priority);
  const found = levels[at];
  if (found?.priority === priority) return found;
  const level: Level = { priority, heap: new RankedHeap<Tracked>(lowerId) };
  levels.splice(at < 0 ? levels.length : at, 0, level);
  return level;
}

/** Of one transaction: any order will do that stays the same. */
const lowerId = (a: Tracked, b: Tracked): boolean => a.evaluation.ID < b.evaluation.ID;
