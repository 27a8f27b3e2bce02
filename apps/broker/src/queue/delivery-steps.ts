import { StepLine } from '@waybill/state';
import { FAILED_QUEUE } from './delivery.js';
import { dueMsOf } from './due-evaluations.js';
import type { Outstanding, Returned, Tracked } from './tracked-evaluation.js';

/** Deliveries of one evaluation that came to nothing and are remembered: those that the limit allows, and a few. */
export const MAX_RETURNED = 8;

/**
 * The steps of a delivery, begun with those that led to it: made when the first transaction is about to tell them, so
 * that what is handed out and acked alone costs nothing.
 */
export function stepsOf(delivery: Outstanding): StepLine {
  return (delivery.steps ??= begun(delivery));
}

/** The delivery ends without success: the next one of the evaluation tells of it. */
export function returned(delivery: Outstanding, nowMs: number): void {
  const { tracked, sinceMs: dequeuedMs } = delivery;
  const { enqueuedAtMs: enqueuedMs } = tracked;
  tracked.returned = [...(tracked.returned ?? []), { enqueuedMs, dequeuedMs, returnedMs: nowMs }].slice(-MAX_RETURNED);
}

function begun({ tracked, sinceMs }: Outstanding): StepLine {
  const { returned: earlier = [], deliveries } = tracked;
  const line = new StepLine(sinceMs);
  let attempt = deliveries - earlier.length;
  const [first] = earlier;
  cameIn(line, tracked, first ?? { enqueuedMs: tracked.enqueuedAtMs, dequeuedMs: sinceMs });
  for (const { dequeuedMs, returnedMs } of earlier) {
    line.add('dequeued', dequeuedMs, undefined, attempt++);
    line.add('rejected', returnedMs);
  }
  if (tracked.queue.type !== FAILED_QUEUE) line.add('dequeued', sinceMs, undefined, attempt);
  return line;
}

/** From its coming in to the first delivery. */
function cameIn(
  line: StepLine,
  { evaluation, job }: Tracked,
  { enqueuedMs, dequeuedMs }: Pick<Returned, 'enqueuedMs' | 'dequeuedMs'>,
): void {
  const dueMs = Math.min(Math.max(dueMsOf(evaluation, enqueuedMs), enqueuedMs), dequeuedMs);
  if (dueMs > enqueuedMs) line.add('delayed', enqueuedMs, dueMs);
  const readyMs = Math.min(Math.max(job?.passedAtMs ?? 0, dueMs), dequeuedMs);
  if (readyMs > dueMs) line.add('pending', dueMs, readyMs);
  line.add(evaluation.Status === 'blocked' ? 'unblocked' : 'enqueued', readyMs, dequeuedMs);
}
