import { RankedHeap } from './heap.js';
import type { PriorityLevel, ReadyQueue, TrackedEvaluation } from './tracked-evaluations.js';

/**
 * The evaluations that are ready to be delivered: a queue for each scheduler type and the failed queue, each by priority
 * and then by age, with counts of its ready and unacked evaluations. Cost: O(log n); of the counts, O(types).
 */
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

  /** The queue of a scheduler type. An evaluation's record keeps it, so it is looked up once for each evaluation. */
  queueOf(type: string): ReadyQueue {
    let queue = this.queues.get(type);
    if (!queue) this.queues.set(type, (queue = { type, levels: [], ready: 0, unacked: 0 }));
    return queue;
  }

  push(tracked: TrackedEvaluation): void {
    const { queue } = tracked;
    levelOf(queue, tracked.evaluation.Priority).heap.push(tracked, tracked.evaluation.CreateIndex);
    queue.ready++;
    this.readyCount++;
  }

  /** The next evaluation of these types (EB-61, EB-62), undefined if there is none. */
  pop(types: readonly string[]): TrackedEvaluation | undefined {
    const queue = this.queueWithHighestPriority(types);
    const level = queue?.levels[0];
    if (!queue || !level) return undefined;
    const tracked = level.heap.pop();
    if (level.heap.size === 0) queue.levels.shift();
    queue.ready--;
    this.readyCount--;
    return tracked;
  }

  /** Counts an evaluation of this queue as unacked. */
  countUnacked(queue: ReadyQueue): void {
    queue.unacked++;
    this.unackedCount++;
  }

  /** Counts an evaluation of this queue as unacked no longer. */
  uncountUnacked(queue: ReadyQueue): void {
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

  /** The queue whose first evaluation has the highest priority; chosen at random among equals. */
  private queueWithHighestPriority(types: readonly string[]): ReadyQueue | undefined {
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

/** The level of a priority, which is created if need be. O(priorities in use). */
function levelOf({ levels }: ReadyQueue, priority: number): PriorityLevel {
  const at = levels.findIndex((level) => level.priority <= priority);
  const found = levels[at];
  if (found?.priority === priority) return found;
  const level: PriorityLevel = { priority, heap: new RankedHeap<TrackedEvaluation>(hasLowerId) };
  levels.splice(at < 0 ? levels.length : at, 0, level);
  return level;
}

/** Orders evaluations of one transaction; any fixed order will do. */
const hasLowerId = (a: TrackedEvaluation, b: TrackedEvaluation): boolean => a.evaluation.ID < b.evaluation.ID;
