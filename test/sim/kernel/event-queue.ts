/** Something that will happen. */
export interface ScheduledEvent {
  readonly atMs: number;
  /** Position among all events ever scheduled: of two at the same time the earlier scheduled comes first. */
  readonly order: number;
  readonly label: string;
  readonly run: () => void;
  cancelled: boolean;
}

/** What will happen, soonest first: a binary heap. Cancelled events stay until they come up. Cost: O(log events). */
export class EventQueue {
  private readonly heap: ScheduledEvent[] = [];

  get size(): number {
    return this.heap.length;
  }

  push(event: ScheduledEvent): void {
    const { heap } = this;
    let at = heap.length;
    heap.push(event);
    while (at > 0) {
      const parentAt = (at - 1) >> 1;
      const parent = heap[parentAt];
      if (!parent || isBefore(parent, event)) break;
      heap[at] = parent;
      at = parentAt;
    }
    heap[at] = event;
  }

  /** The next one that is not cancelled, still in the queue. */
  peek(): ScheduledEvent | undefined {
    for (let [first] = this.heap; first?.cancelled; [first] = this.heap) this.removeFirst();
    return this.heap[0];
  }

  pop(): ScheduledEvent | undefined {
    const first = this.peek();
    if (first) this.removeFirst();
    return first;
  }

  private removeFirst(): void {
    const { heap } = this;
    const last = heap.pop();
    if (!last || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let childAt = 2 * at + 1;
      let child = heap[childAt];
      if (!child) break;
      const right = heap[childAt + 1];
      if (right && isBefore(right, child)) {
        child = right;
        childAt++;
      }
      if (isBefore(last, child)) break;
      heap[at] = child;
      at = childAt;
    }
    heap[at] = last;
  }
}

const isBefore = (a: ScheduledEvent, b: ScheduledEvent): boolean =>
  a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
