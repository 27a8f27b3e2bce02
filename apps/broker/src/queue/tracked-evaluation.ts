import type { RankedHeap } from './ranked-heap.js';
import type { Evaluation, StatedTime } from '@waybill/model';
import type { StepLine } from '@waybill/state';
import type { HeapElement } from './heap.js';

/** What is ready with one priority: oldest first (EB-49). */
export interface Level {
  readonly priority: number;
  readonly heap: RankedHeap<Tracked>;
}

/** What is ready for one type of scheduler, and how much of it is being worked on. */
export interface ReadyQueue {
  readonly type: string;
  /** Those that have something, highest priority first (EB-48). A cluster uses few priorities. */
  readonly levels: Level[];
  ready: number;
  unacked: number;
}

export type Place = 'ready' | 'unacked' | 'pending' | 'delayed' | 'redelivery' | 'cancelable';

/** What the broker knows of one evaluation, from enqueue to ack: exactly one place at a time. */
export interface Tracked {
  readonly evaluation: Evaluation;
  /** Undefined until it is due for the first time. */
  job: JobSlot | undefined;
  place: Place;
  /** Of its scheduler type, or the failed queue. */
  queue: ReadyQueue;
  deliveries: number;
  /** While unacked. */
  delivery: Outstanding | undefined;
  enqueuedAtMs: number;
  /** Deliveries that came to nothing, oldest first. */
  returned: readonly Returned[] | undefined;
  /** Its times go to the meter (EB-321). */
  timed: boolean;
  /** While delayed or awaiting redelivery. */
  delay: Delay | undefined;
}

/** One delivery that came to nothing, unix ms. */
export interface Returned {
  readonly enqueuedMs: number;
  readonly dequeuedMs: number;
  readonly returnedMs: number;
}

/** Waiting for a time. */
export interface Delay extends HeapElement, StatedTime {
  readonly tracked: Tracked;
  /** Unix ms, by the clock as it was set last. */
  dueMs: number;
}

/** One job that has evaluations here: what serializes them. */
export interface JobSlot {
  readonly namespace: string;
  readonly id: string;
  /** The one that is ready, unacked or awaiting redelivery (EB-52). */
  holder: Tracked;
  /** Unix ms at which an earlier one made room for the holder; 0: there was none. */
  passedAtMs: number;
  /** Unix ns: the latest `WaitUntil` of all that came here; each had its time by this broker's clock. 0: none had one. */
  dueNs: number;
  /** The newest of those that wait behind it. */
  next: Tracked | undefined;
  /** Copies of what makes it the newest: whoever comes must not have to fetch it. */
  nextPriority: number;
  nextModifyIndex: number;
  /** The others that wait: superseded as soon as `next` has its turn. Made when the first comes. */
  older: Tracked[] | undefined;
}

/** One delivery in progress. */
export interface Outstanding {
  readonly tracked: Tracked;
  readonly token: string;
  readonly sinceMs: number;
  /** Enqueued again, in this state, by the worker's own reblock: comes in anew after the ack (EB-92). */
  requeue: Evaluation | undefined;
  /** What no transaction has told of it yet; made when one is about to. */
  steps: StepLine | undefined;
  /** Plans of it that are being judged and committed; its nack timer rests meanwhile (EB-88). */
  plans: number;
  /** It was given back meanwhile, and ends with the last of them. */
  isGivenBack: boolean;
  /** Of the nack timers: unix ms of its end, and its neighbours in order of ending. */
  deadlineMs: number;
  sooner: Outstanding | undefined;
  later: Outstanding | undefined;
}
