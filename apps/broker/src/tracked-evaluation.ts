import type { Evaluation } from '@waybill/model';
import type { Heap, HeapElement } from './heap.js';

export type Place = 'ready' | 'unacked' | 'pending' | 'delayed' | 'redelivery' | 'cancelable';

/** What the broker knows of one evaluation, from enqueue to ack. In at most one heap, by `place`. */
export interface Tracked extends HeapElement {
  readonly evaluation: Evaluation;
  /** Copies of what orders it: a comparison must not have to fetch the evaluation too. */
  readonly priority: number;
  readonly createIndex: number;
  readonly modifyIndex: number;
  /** Undefined until it is due for the first time. */
  job: JobSlot | undefined;
  place: Place;
  /** Scheduler type, or the failed queue. */
  queue: string;
  deliveries: number;
  enqueuedAtMs: number;
  /** Its times go to the meter (EB-321). */
  timed: boolean;
  /** Unix ms, while delayed or awaiting redelivery. */
  dueMs: number;
  delivery: Outstanding | undefined;
}

/** One job that has evaluations here: what serializes them. */
export interface JobSlot {
  readonly namespace: string;
  readonly id: string;
  /** The one that is ready, unacked or awaiting redelivery (EB-52). */
  holder: Tracked | undefined;
  /** Those that wait behind it; made when the first has to. */
  pending: Heap<Tracked> | undefined;
}

/** One delivery in progress. */
export interface Outstanding {
  readonly tracked: Tracked;
  readonly token: string;
  readonly sinceMs: number;
  /** Enqueued again, in this state, by the worker's own reblock: comes in anew after the ack (EB-92). */
  requeue: Evaluation | undefined;
}
