import type { TxnPayloads } from './catalogue.js';
import { namespacedKey } from './tables.js';
import type { Txn } from './txn.js';
import type { Write } from './write.js';

/** Of each group of a job. */
export const MAX_SCALING_EVENTS = 20;

/** Type 38. An event of a job that is gone has nowhere to be: nothing. */
export function registerScalingEvent(
  w: Write,
  { JobID, TaskGroup, ScalingEvent }: TxnPayloads['ScalingEventRegister'],
  { namespace }: Txn<'ScalingEventRegister'>,
): void {
  const key = namespacedKey(namespace, JobID);
  if (!w.tables.jobs.has(key)) return;
  const stored = w.tables.scaling_event.get(key);
  const events = [{ ...ScalingEvent, CreateIndex: w.index }, ...(stored?.ScalingEvents[TaskGroup] ?? [])];
  w.put('scaling_event', {
    Namespace: namespace,
    JobID,
    ScalingEvents: { ...stored?.ScalingEvents, [TaskGroup]: events.slice(0, MAX_SCALING_EVENTS) },
    CreateIndex: stored?.CreateIndex ?? w.index,
    ModifyIndex: w.index,
  });
}
