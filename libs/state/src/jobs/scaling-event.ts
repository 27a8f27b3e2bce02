import type { GroupScalingEvent } from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import { namespacedKey } from '../machine/tables.js';
import type { Txn } from '../log/txn.js';
import type { Write } from '../machine/write.js';

/** Events kept of each group of a job. */
export const MAX_SCALING_EVENTS = 20;

/** Type 38: stores a scaling event. An event of a deleted job is dropped. */
export function registerScalingEvent(
  w: Write,
  event: TxnPayloads['ScalingEventRegister'],
  { namespace }: Txn<'ScalingEventRegister'>,
): void {
  if (w.tables.jobs.has(namespacedKey(namespace, event.JobID))) putScalingEvent(w, namespace, event.JobID, event);
}

/** The events with this one, newest first, each with its transaction's index. */
export function putScalingEvent(
  w: Write,
  Namespace: string,
  JobID: string,
  { TaskGroup, ScalingEvent }: GroupScalingEvent,
): void {
  const stored = w.tables.scaling_event.get(namespacedKey(Namespace, JobID));
  const events = [{ ...ScalingEvent, CreateIndex: w.index }, ...(stored?.ScalingEvents[TaskGroup] ?? [])];
  w.put('scaling_event', {
    Namespace,
    JobID,
    ScalingEvents: { ...stored?.ScalingEvents, [TaskGroup]: events.slice(0, MAX_SCALING_EVENTS) },
    CreateIndex: stored?.CreateIndex ?? w.index,
    ModifyIndex: w.index,
  });
}
