import type { Evaluation } from '@waybill/model';
import type { EvaluationTimes } from './evaluation-times.js';
import type { Tracked, ReadyQueue } from './tracked-evaluation.js';

/** Every evaluation that the broker has, by id, from enqueue to ack (EB-32). One record each. Cost: O(1). */
export class TrackedEvaluations {
  private byId = new Map<string, Tracked>();

  constructor(private readonly times: EvaluationTimes) {}

  get(evalId: string): Tracked | undefined {
    return this.byId.get(evalId);
  }

  /** @param measured whether its times say something: not if it was here before this process knew of it (EB-137) */
  add(evaluation: Evaluation, queue: ReadyQueue, nowMs: number, measured: boolean): Tracked {
    const tracked: Tracked = {
      evaluation,
      job: undefined,
      place: 'delayed',
      queue,
      deliveries: 0,
      delivery: undefined,
      enqueuedAtMs: nowMs,
      returned: undefined,
      timed: measured && this.times.begin(),
      delay: undefined,
    };
    this.byId.set(evaluation.ID, tracked);
    return tracked;
  }

  /** The one place where an evaluation leaves. */
  forget(tracked: Tracked): void {
    this.byId.delete(tracked.evaluation.ID);
    this.times.end(tracked);
  }

  clear(): void {
    this.byId = new Map();
    this.times.clear();
  }
}
