import {
  dueAtMs,
  msFromNs,
  nsFromRfc3339,
  NS_PER_MS,
  type CancelTimer,
  type Clock,
  type Evaluation,
  statedTime,
  type Timers,
  WallClockTimers,
} from '@waybill/model';
import { Heap } from './heap.js';
import type { Delay, Tracked } from './tracked-evaluation.js';

export interface DueEvaluationsDeps {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Gets those whose time has come, earliest first; they are not here any more. */
  readonly onDue: (due: readonly Tracked[]) => void;
}

/**
 * Evaluations that wait for a time: delayed ones, and those that come again after a nack. One timer for all of them,
 * for the earliest by the time of day; it may come early and then waits on. None waits longer than its writer meant it
 * to, by the time that passes: its `WaitUntil` may come from a wrong hour, and this clock may be set back.
 * Cost: O(log n); O(n) when the clock is set.
 */
export class DueEvaluations {
  private heap = new Heap<Delay>(dueBefore);
  private stopTimer: CancelTimer = () => {};
  private timerAt = Infinity;

  private readonly timers: Timers;

  constructor(private readonly deps: DueEvaluationsDeps) {
    this.timers = new WallClockTimers(deps, (byMs) => this.clockSet(byMs));
  }

  get size(): number {
    return this.heap.size;
  }

  push(tracked: Tracked, dueMs: number): void {
    const nowMs = this.deps.clock.nowMs();
    const stated = statedTime(dueMs, nowMs, longestMs(tracked, dueMs - nowMs));
    tracked.delay = { ...stated, tracked, dueMs: dueAtMs(stated), heapAt: -1 };
    this.heap.push(tracked.delay);
    this.arm();
  }

  remove(tracked: Tracked): void {
    if (tracked.delay) this.heap.remove(tracked.delay);
    tracked.delay = undefined;
  }

  /** Those that wait for their `WaitUntil` (EB-38), at most `max`, in no particular order. O(waiting). */
  *delayed(max: number): IterableIterator<{ readonly evaluation: Evaluation; readonly dueInMs: number }> {
    const now = this.deps.clock.nowMs();
    let shown = 0;
    for (const { tracked, dueMs } of this.heap.values()) {
      const { evaluation, place } = tracked;
      if (place !== 'delayed' || evaluation.Wait > 0 || shown >= max) continue;
      shown++;
      yield { evaluation, dueInMs: dueMs - now };
    }
  }

  clear(): void {
    this.stopTimer();
    this.stopTimer = () => {};
    this.timerAt = Infinity;
    this.heap = new Heap<Delay>(dueBefore);
  }

  private clockSet(byMs: number): void {
    const waiting = [...this.heap.values()];
    this.heap = new Heap<Delay>(dueBefore);
    for (const delay of waiting) {
      delay.latestMs += byMs;
      delay.dueMs = dueAtMs(delay);
      this.heap.push(delay);
    }
    this.timerAt = Infinity;
    this.arm();
  }

  private arm(): void {
    const next = this.heap.peek();
    if (!next || next.dueMs >= this.timerAt) return;
    const stopOld = this.stopTimer;
    this.timerAt = next.dueMs;
    this.stopTimer = this.timers.after(next.dueMs - this.deps.clock.nowMs(), () => this.wake());
    stopOld();
  }

  private wake(): void {
    this.timerAt = Infinity;
    const now = this.deps.clock.nowMs();
    const due: Tracked[] = [];
    for (let next = this.heap.peek(); next && next.dueMs <= now; next = this.heap.peek()) {
      this.heap.pop();
      next.tracked.delay = undefined;
      due.push(next.tracked);
    }
    this.arm();
    this.deps.onDue(due);
  }
}

/** EB-34: `Wait` counts from now and wins over `WaitUntil`. */
export function dueMsOf(evaluation: Evaluation, nowMs: number): number {
  if (evaluation.Wait > 0) return nowMs + Math.ceil(evaluation.Wait / 1e6);
  return evaluation.WaitUntil === null ? nowMs : msFromNs(nsFromRfc3339(evaluation.WaitUntil));
}

/** How long an evaluation may wait, by what its writer meant; a redelivery, as long as it was put off. */
function longestMs({ evaluation, place }: Tracked, askedMs: number): number {
  const { Wait, WaitUntil, CreateTime } = evaluation;
  if (place !== 'delayed' || Wait > 0 || WaitUntil === null) return askedMs;
  return CreateTime > 0 ? Math.ceil((nsFromRfc3339(WaitUntil) - CreateTime) / NS_PER_MS) : Infinity;
}

function dueBefore(a: Delay, b: Delay): boolean {
  return a.dueMs !== b.dueMs ? a.dueMs < b.dueMs : a.tracked.evaluation.ID < b.tracked.evaluation.ID;
}
