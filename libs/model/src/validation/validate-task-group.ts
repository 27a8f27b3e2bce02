import type { ScalingPolicy } from '../jobs/shared-blocks.js';
import type { Job } from '../jobs/job.js';
import { MAX_GROUP_NAME_BYTES, nameLengthErrors } from '../limits/name-limits.js';
import { nestedList } from './message-list.js';
import { hasControlCharacters, isRelativeSegment, isReservedName, lookalikeErrors, metaErrors } from './safe-name.js';
import type { Service } from '../jobs/service.js';
import type { TaskGroup } from '../jobs/task-group.js';
import { networkWarnings, validateNetworks } from './validate-network.js';
import { validateAffinities, validateConstraints, validateSpreads } from './validate-placement.js';
import {
  validateDisconnect,
  validateMigrateStrategy,
  validateReschedulePolicy,
  validateRestartPolicy,
  validateUpdateStrategy,
} from './validate-policies.js';
import { serviceIdentityWarnings, sharedTokenErrors } from './validate-identity.js';
import { serviceErrors } from './validate-service.js';
import { taskErrors, taskWarnings } from './validate-task.js';
import { validateVolumes } from './validate-volume.js';

const MIN_DISK_MB = 10;

/**
 * Returns the errors of a group (API-335) and its content, without the group's prefix. Those of its tasks come last,
 * with the tasks' prefixes.
 */
export function taskGroupErrors(group: TaskGroup, job: Job): string[] {
  return [
    ...nameErrors(group),
    ...metaErrors(group.Meta),
    ...(group.Count < 0 ? ["Task group count can't be negative"] : []),
    ...(group.Tasks.length === 0 && !isGateway(group) ? ['Missing tasks for task group'] : []),
    ...durationErrors(group, job.Type),
    ...validateConstraints(group.Constraints),
    ...systemErrors(group, job.Type),
    ...validateAffinities(group.Affinities),
    ...validateRestartPolicy(group.RestartPolicy),
    ...validateSpreads(group.Spreads),
    ...rescheduleErrors(group, job.Type),
    ...(group.Disconnect === null ? [] : validateDisconnect(group.Disconnect, job.Type)),
    ...diskErrors(group),
    ...rolloutErrors(group, job.Type),
    ...tasksTogetherErrors(group),
    ...validateNetworks(group),
    ...validateVolumes(group, job.Type),
    ...servicesErrors(group),
    ...scalingErrors(group),
    ...group.Tasks.flatMap((task) => {
      const errors = taskErrors(task, group, job.Type);
      return errors.length === 0 ? [] : [`Task ${task.Name} validation failed: ${nestedList(errors)}`];
    }),
  ];
}

export interface WarningContext {
  /** Setting of the scheduler configuration. */
  memoryOversubscription: boolean;
}

/** Returns the warnings about a group (API-350). Each is a complete sentence, without the name of the group. */
export function taskGroupWarnings(group: TaskGroup, context: WarningContext): string[] {
  const warnings: string[] = [];
  if (group.Update !== null && group.Count > 1 && group.Update.MaxParallel > group.Count) {
    warnings.push(
      `Update max parallel count is greater than task group count (${group.Update.MaxParallel} > ${group.Count}). ` +
        'A destructive change would result in the simultaneous replacement of all allocations.',
    );
  }
  if ((group.Networks ?? []).some((network) => network.MBits > 0)) {
    warnings.push('mbits has been deprecated as of Nomad 0.12.0. Please remove mbits from the network block');
  }
  for (const warning of [...networkWarnings(group), ...serviceIdentityWarnings(group)]) warnings.push(warning);
  const hasDelay = group.ShutdownDelay !== null || group.Tasks.some((task) => task.ShutdownDelay > 0);
  if (group.Services !== null && !hasDelay) {
    warnings.push(
      `group "${group.Name}" defines services, but neither the group nor any of its tasks have shutdown_delay set`,
    );
  }
  for (const task of group.Tasks) {
    const taskMessages = taskWarnings(task);
    if (taskMessages.length > 0) warnings.push(`Task "${task.Name}" has warnings: ${nestedList(taskMessages)}`);
    if (task.Resources.MemoryMaxMB > task.Resources.MemoryMB && !context.memoryOversubscription) {
      warnings.push(
        `Memory oversubscription is not enabled; Task "${group.Name}.${task.Name}" memory_max value will be ignored. ` +
          'Update the Scheduler Configuration to allow oversubscription.',
      );
    }
  }
  return warnings;
}

function nameErrors({ Name }: TaskGroup): string[] {
  if (Name === '') return ['Missing task group name'];
  if (isReservedName(Name) || isRelativeSegment(Name)) return [`Task group cannot be named "${Name}"`];
  const errors = nameLengthErrors('Task group name', Name, MAX_GROUP_NAME_BYTES);
  if (Name.includes('\0')) errors.unshift('Task group name contains null character');
  else if (hasControlCharacters(Name)) errors.unshift('Task group name contains control characters');
  return errors;
}

/** Whether the group is a gateway of Consul Connect, which has no tasks of its own. */
const isGateway = ({ Services }: TaskGroup): boolean =>
  (Services ?? []).some(({ Connect }) =>
    Object.entries(Connect ?? {}).some(([k, v]) => /^gateway$/i.test(k) && v !== null),
  );

function durationErrors({ MaxRunDuration }: TaskGroup, jobType: string): string[] {
  if (MaxRunDuration === null) return [];
  const errors: string[] = [];
  if (MaxRunDuration <= 0) errors.push('MaxRunDuration must be greater than zero');
  if (jobType === 'service' || jobType === 'system') {
    errors.push(`Job type "${jobType}" does not allow max_run_duration`);
  }
  return errors;
}

function systemErrors(group: TaskGroup, jobType: string): string[] {
  if (jobType !== 'system') return [];
  return [
    ...(group.Affinities === null ? [] : ['System jobs may not have an affinity block']),
    ...(group.Spreads === null ? [] : ['System jobs may not have a spread block']),
  ];
}

function rescheduleErrors({ Name, ReschedulePolicy }: TaskGroup, jobType: string): string[] {
  const isSystem = jobType === 'system' || jobType === 'sysbatch';
  if (isSystem) {
    return ReschedulePolicy === null ? [] : ['System or sysbatch jobs should not have a reschedule policy'];
  }
  if (ReschedulePolicy === null) return [`Task Group ${Name} should have a reschedule policy`];
  return validateReschedulePolicy(ReschedulePolicy);
}

function diskErrors({ EphemeralDisk }: TaskGroup): string[] {
  return EphemeralDisk.SizeMB < MIN_DISK_MB
    ? [`minimum DiskMB value is ${MIN_DISK_MB}; got ${EphemeralDisk.SizeMB}`]
    : [];
}

function rolloutErrors({ Update, Migrate }: TaskGroup, jobType: string): string[] {
  const errors: string[] = [];
  if (Update !== null) {
    if (jobType !== 'service' && jobType !== 'system') {
      errors.push(`Job type "${jobType}" does not allow update block`);
    }
    for (const item of validateUpdateStrategy(Update)) errors.push(item);
  }
  if (Migrate !== null) {
    if (jobType !== 'service') errors.push(`Job type "${jobType}" does not allow migrate block`);
    for (const item of validateMigrateStrategy(Migrate)) errors.push(item);
  }
  return errors;
}

function tasksTogetherErrors({ Name, Tasks }: TaskGroup): string[] {
  const errors: string[] = [];
  const firstWithName = new Map<string, number>();
  for (const [index, task] of Tasks.entries()) {
    const other = firstWithName.get(task.Name);
    if (task.Name === '') errors.push(`Task ${index + 1} missing name`);
    else if (other !== undefined) errors.push(`Task ${index + 1} redefines '${task.Name}' from task ${other}`);
    else firstWithName.set(task.Name, index + 1);
  }
  for (const item of lookalikeErrors(Tasks.map((task) => task.Name))) errors.push(item);
  if (Tasks.filter((task) => task.Leader).length > 1) errors.push('Only one task may be marked as leader');
  if (Tasks.length > 0 && Tasks.every((task) => task.Lifecycle !== null)) {
    errors.push(`Task group ${Name} must have at least one main task`);
  }
  return errors;
}

/**
 * Returns the errors of the group's services, and of the rules that these share with the services of its tasks
 * (API-343).
 */
function servicesErrors(group: TaskGroup): string[] {
  const own = (group.Services ?? []).flatMap((service, index) => {
    const errors = [...serviceErrors(service), ...groupServiceErrors(service, group)];
    return errors.length === 0 ? [] : [`Service[${index}] ${service.Name} validation failed: ${nestedList(errors)}`];
  });
  const errors = [...own, ...servicesTogetherErrors(group), ...sharedTokenErrors(group)];
  return errors.length === 0 ? [] : [`Task group service validation failed: ${nestedList(errors)}`];
}

function groupServiceErrors(service: Service, group: TaskGroup): string[] {
  const errors: string[] = [];
  if (service.AddressMode === 'driver') {
    errors.push(
      `service "${service.Name}" cannot use address_mode="driver", ` +
        'only services defined in a "task" block can use this mode',
    );
  }
  const tasks = new Set(group.Tasks.map((task) => task.Name));
  for (const check of service.Checks ?? []) {
    if (check.TaskName !== '' && !tasks.has(check.TaskName)) {
      errors.push(`Check ${check.Name} invalid: refers to non-existent task ${check.TaskName}`);
    }
  }
  return errors;
}

function servicesTogetherErrors(group: TaskGroup): string[] {
  const placed = [
    ...(group.Services ?? []).map((service) => ({ task: 'group', service })),
    ...group.Tasks.flatMap((task) => (task.Services ?? []).map((service) => ({ task: task.Name, service }))),
  ];
  const errors: string[] = [];
  if (new Set(placed.map(({ service }) => service.Provider)).size > 1) {
    errors.push('Multiple service providers used: task group services must use the same provider');
  }
  const seen = new Set<string>();
  const repeated = new Set<string>();
  for (const { task, service } of placed) {
    const key = `${task}->${service.Name}:${service.PortLabel}`;
    if (seen.has(key)) repeated.add(key);
    seen.add(key);
  }
  if (repeated.size > 0) errors.push(`Services are not unique: ${[...repeated].join(', ')}`);
  return errors;
}

/** Errors of the scaling policy of a group (API-345). */
function scalingErrors(group: TaskGroup): string[] {
  if (group.Scaling === null) return [];
  const errors = policyErrors(group.Scaling).map((error) => `Scaling policy invalid: ${error}`);
  if (group.Scaling.Max >= 0 && group.Count > group.Scaling.Max) {
    errors.push('Scaling policy invalid: task group count must not be greater than maximum count in scaling policy');
  }
  if (group.Count < group.Scaling.Min) {
    errors.push('Scaling policy invalid: task group count must not be less than minimum count in scaling policy');
  }
  return errors.length === 0 ? [] : [`Task group scaling policy validation failed: ${nestedList(errors)}`];
}

function policyErrors(policy: ScalingPolicy): string[] {
  const errors: string[] = [];
  if (policy.Type === '') errors.push('missing scaling policy type');
  else if (policy.Type !== 'horizontal') errors.push(`scaling policy type "${policy.Type}" is not valid`);
  if (policy.Max < 0) errors.push('maximum count must be specified and non-negative');
  else if (policy.Max < policy.Min) errors.push('maximum count must not be less than minimum count');
  if (policy.Min < 0) errors.push('minimum count must be specified and non-negative');
  return errors;
}
