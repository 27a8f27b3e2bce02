import type { Evaluation, EvalTrigger } from '@waybill/model';
import { namespacedKey, type Tables } from '@waybill/state';
import type { Attempt, AttemptInput } from './attempt.js';
import { attemptGeneric } from './generic-scheduler.js';
import { attemptSystem } from './system-scheduler.js';

export type SchedulerType = 'service' | 'batch' | 'system' | 'sysbatch';

/** Types of evaluations that a worker of this process can schedule. */
export const SCHEDULER_TYPES: readonly SchedulerType[] = ['service', 'batch', 'system', 'sysbatch'];

/** Attempts before an evaluation fails; progress resets the count (EB-211, SC-21). */
export const MAX_ATTEMPTS: Readonly<Record<SchedulerType, number>> = { service: 5, batch: 2, system: 5, sysbatch: 2 };

const SYSTEM_TRIGGERS: readonly EvalTrigger[] = [
  'job-register',
  'node-update',
  'failed-follow-up',
  'job-deregister',
  'rolling-update',
  'preemption',
  'deployment-watcher',
  'node-drain',
  'alloc-stop',
  'queued-allocs',
  'job-scaling',
  'reconnect',
];

/** There is no scheduler of this type (SC-12); the evaluation is nacked. */
export class UnknownSchedulerError extends Error {
  override readonly name = 'UnknownSchedulerError';
  constructor(readonly type: string) {
    super(`unknown scheduler '${type}'`);
  }
}

/**
 * The type of the stored job if it is not stopped, else that of the evaluation (EB-339). @throws UnknownSchedulerError
 */
export function schedulerTypeFor(evaluation: Evaluation, tables: Tables): SchedulerType {
  const job = tables.jobs.get(namespacedKey(evaluation.Namespace, evaluation.JobID));
  const type = job && !job.Stop ? job.Type : evaluation.Type;
  const known = SCHEDULER_TYPES.find((t) => t === type);
  if (!known) throw new UnknownSchedulerError(type);
  return known;
}

/** Whether the scheduler of this type accepts the trigger (EB-30, SC-11). */
export function acceptsTrigger(type: SchedulerType, trigger: EvalTrigger): boolean {
  switch (type) {
    case 'service':
    case 'batch':
      return trigger !== 'scheduled';
    case 'system':
      return SYSTEM_TRIGGERS.includes(trigger);
    case 'sysbatch':
      return trigger === 'periodic-job' || SYSTEM_TRIGGERS.includes(trigger);
  }
}

/** One scheduling pass. Pure: the same input gives the same attempt (SC-314). */
export function schedule(type: SchedulerType, input: AttemptInput): Attempt {
  return type === 'service' || type === 'batch' ? attemptGeneric(input) : attemptSystem(type, input);
}
