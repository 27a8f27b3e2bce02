import {
  dueAtMs,
  nsFromRfc3339,
  NS_PER_MS,
  type CancelTimer,
  type Clock,
  type Evaluation,
  statedTime,
  type Timers,
  WallClockTimers,
} from '@waybill/model';
import { Heap, NOT_IN_HEAP } from './heap.js';
import type { Delay, TrackedEvaluation } from './tracked-evaluations.js';

export interface DelayedEvaluationsDeps {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Called with the evaluations that are due, earliest first, after they have left the heap. */
  readonly onDue: (due: readonly TrackedEvaluation[]) => void;
}

/**
 * Evaluations that wait for a time: delayed ones, and nacked ones that await redelivery. One timer serves all of them. It
 * is armed for the earliest evaluation by the time of day; when it fires early, it is armed again. An evaluation waits no
 * longer than its writer intended, measured in elapsed time: the writer's clock may have been wrong when it computed
 * `WaitUntil`, and this clock may be set back.
 * Cost: O(log n); O(n) when the clock is set.
 */
export class DelayedEvaluations {
  private heap = new Heap<Delay>(dueBefore);
  private stopTimer: CancelTimer = () => {};
  private timerAt = Infinity;

  private readonly timers: Timers;

  constructor(private readonly deps: DelayedEvaluationsDeps) {
    this.timers = new WallClockTimers(deps, (byMs) => this.reschedule(byMs));
  }

  get size(): number {
    return this.heap.size;
  }

  push(tracked: TrackedEvaluation, dueMs: number): void {
    const nowMs = this.deps.clock.nowMs();
    const stated = statedTime(dueMs, nowMs, longestDelayMs(tracked, dueMs - nowMs));
    const delay: Delay = { ...stated, tracked, dueMs: dueAtMs(stated), heapAt: NOT_IN_HEAP };
    tracked.startDelay(delay);
    this.heap.push(delay);
    this.arm();
  }

  remove(tracked: TrackedEvaluation): void {
    if (tracked.delay) this.heap.remove(tracked.delay);
  }

  /** The evaluations that wait for their `WaitUntil` (EB-38), at most `max`, in no particular order. O(waiting). */
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
    this.timerAt = Infinity;
    this.heap = new Heap<Delay>(dueBefore);
  }

  /** Computes all due times anew after the clock was set. O(n). */
  private reschedule(byMs: number): void {
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
    this.stopTimer = this.timers.after(next.dueMs - this.deps.clock.nowMs(), () => this.releaseDue());
    stopOld();
  }

  private releaseDue(): void {
    this.timerAt = Infinity;
    const now = this.deps.clock.nowMs();
    const due: TrackedEvaluation[] = [];
    for (let next = this.heap.peek(); next && next.dueMs <= now; next = this.heap.peek()) {
      this.heap.pop();
      due.push(next.tracked);
    }
    this.arm();
    this.deps.onDue(due);
  }
}

/** The longest time that the evaluation may wait: what its writer intended, or for a redelivery the requested delay. */
function longestDelayMs({ evaluation, place }: TrackedEvaluation, requestedMs: number): number {
  const { Wait, WaitUntil, CreateTime } = evaluation;
  if (place !== 'delayed' || Wait > 0 || WaitUntil === null) return requestedMs;
  return CreateTime > 0 ? Math.ceil((nsFromRfc3339(WaitUntil) - CreateTime) / NS_PER_MS) : Infinity;
}

function dueBefore(a: Delay, b: Delay): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.tracked.evaluation.ID < b.tracked.evaluation.ID);
}
