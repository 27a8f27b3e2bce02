import type { RestartPolicy } from '../jobs/shared-blocks.js';
import { NS_PER_HOUR, NS_PER_MINUTE, NS_PER_SECOND } from '../time/clock.js';
import { UPDATE_DEFAULTS, type GivenJob } from '../jobs/job-shape.js';
import type { MigrateStrategy, ReschedulePolicy, TaskGroup, UpdateStrategy } from '../jobs/task-group.js';
import type { Given } from '../encoding/wire-shape.js';

/**
 * Completes the policies of a group field by field: the group's value, then the job's, then the default for the job's
 * type (API-300, API-301, API-304). A block that the type does not allow is completed too, so that validation can
 * refuse it.
 */

const RESTART_FOR_SERVICE: RestartPolicy = {
  Attempts: 2,
  Interval: 30 * NS_PER_MINUTE,
  Delay: 15 * NS_PER_SECOND,
  Mode: 'fail',
  RenderTemplates: false,
};

const RESTART_FOR_BATCH: RestartPolicy = { ...RESTART_FOR_SERVICE, Attempts: 3, Interval: 24 * NS_PER_HOUR };

const RESCHEDULE_FOR_SERVICE: ReschedulePolicy = {
  Attempts: 0,
  Interval: 0,
  Delay: 30 * NS_PER_SECOND,
  DelayFunction: 'exponential',
  MaxDelay: NS_PER_HOUR,
  Unlimited: true,
};

const RESCHEDULE_FOR_BATCH: ReschedulePolicy = {
  Attempts: 1,
  Interval: 24 * NS_PER_HOUR,
  Delay: 5 * NS_PER_SECOND,
  DelayFunction: 'constant',
  MaxDelay: 0,
  Unlimited: false,
};

const NO_RESCHEDULE: ReschedulePolicy = {
  Attempts: 0,
  Interval: 0,
  Delay: 0,
  DelayFunction: '',
  MaxDelay: 0,
  Unlimited: false,
};

const MIGRATE_DEFAULTS: MigrateStrategy = {
  MaxParallel: 1,
  HealthCheck: 'checks',
  MinHealthyTime: 10 * NS_PER_SECOND,
  HealthyDeadline: 5 * NS_PER_MINUTE,
};

const NO_UPDATE: UpdateStrategy = {
  Stagger: 0,
  MaxParallel: 0,
  HealthCheck: '',
  MinHealthyTime: 0,
  HealthyDeadline: 0,
  ProgressDeadline: 0,
  AutoRevert: false,
  AutoPromote: false,
  Canary: 0,
};

export function restartPolicy(type: string, group: Given<TaskGroup>): RestartPolicy {
  const defaults = type === 'batch' || type === 'sysbatch' ? RESTART_FOR_BATCH : RESTART_FOR_SERVICE;
  return { ...defaults, ...group.RestartPolicy };
}

export function reschedulePolicy(type: string, job: GivenJob, group: Given<TaskGroup>): ReschedulePolicy | undefined {
  const isSystem = type === 'system' || type === 'sysbatch';
  const isGiven = job.Reschedule !== undefined || isPresent(group.ReschedulePolicy);
  if (isSystem && !isGiven) return undefined;
  return { ...rescheduleDefaults(type), ...job.Reschedule, ...group.ReschedulePolicy };
}

function rescheduleDefaults(type: string): ReschedulePolicy {
  if (type === 'system' || type === 'sysbatch') return NO_RESCHEDULE;
  return type === 'batch' ? RESCHEDULE_FOR_BATCH : RESCHEDULE_FOR_SERVICE;
}

export function migrateStrategy(type: string, job: GivenJob, group: Given<TaskGroup>): MigrateStrategy | undefined {
  if (type !== 'service' && job.Migrate === undefined && !isPresent(group.Migrate)) return undefined;
  return { ...MIGRATE_DEFAULTS, ...job.Migrate, ...group.Migrate };
}

export function updateStrategy(type: string, job: GivenJob, group: Given<TaskGroup>): UpdateStrategy | undefined {
  const fromJob = isPresent(job.Update) && !isAllZero(job.Update) ? job.Update : undefined;
  const isRolling = type === 'service' || type === 'system';
  if (!isRolling && fromJob === undefined && !isPresent(group.Update)) return undefined;
  return { ...UPDATE_DEFAULTS, ...fromJob, ...group.Update };
}

/** Returns the update block that is stored at job level (API-302). */
export function jobLevelUpdate(type: string, given: Given<UpdateStrategy> | undefined): UpdateStrategy {
  if (type === 'batch' || type === 'sysbatch') return NO_UPDATE;
  const { Stagger, MaxParallel } = { ...UPDATE_DEFAULTS, ...given };
  return MaxParallel === 0 ? NO_UPDATE : { ...NO_UPDATE, Stagger, MaxParallel };
}

/**
 * Whether an update block is the stored job-level block of a job without one. If such a job is read and submitted
 * again, this block must not reach its groups.
 */
function isAllZero(update: Given<UpdateStrategy>): boolean {
  const values = Object.values(update);
  return values.length === Object.keys(NO_UPDATE).length && values.every((value) => !value);
}

function isPresent<T>(block: T | null | undefined): block is T {
  return block !== undefined && block !== null;
}
