import { CORE_TYPE } from '../evaluations/core-evaluation.js';
import {
  MAX_DATACENTER_BYTES,
  MAX_JOB_ID_BYTES,
  MAX_JOB_NAME_BYTES,
  MAX_LONG_DESCRIPTION_CHARS,
  nameLengthErrors,
} from '../limits/name-limits.js';
import { checkCron, CronSpecError, specsOf } from '../time/cron.js';
import type { Job, ParameterizedJobConfig, PeriodicConfig } from '../jobs/job.js';
import { nestedList } from './message-list.js';
import { isMultiregion, multiregionErrors } from '../jobs/multiregion.js';
import { hasControlCharacters, jobIdErrors, metaErrors } from './safe-name.js';
import { validateAffinities, validateConstraints, validateSpreads } from './validate-placement.js';
import { taskGroupErrors, taskGroupWarnings } from './validate-task-group.js';

const JOB_TYPES = new Set(['service', 'batch', 'system', 'sysbatch']);
const MIN_PRIORITY = 1;
const MAX_PRIORITY = 100;

export interface ValidationOptions {
  /** Most allocations of one job. Without it there is no limit. */
  jobMaxCount?: number;
  /** Setting of the scheduler configuration. The default is true, which gives no warning. */
  memoryOversubscription?: boolean;
  /** Whether the job is a launch or a dispatch, which carries members that a client may not send. */
  isDispatched?: boolean;
}

export interface JobValidation {
  errors: string[];
  warnings: string[];
}

/**
 * Returns every violation of a job in its stored form, outer before inner (API-330 to API-347), and its warnings
 * (API-350). Join them with formatErrors and formatWarnings. Whether namespace, pool and drivers may be used is not
 * checked here.
 */
export function validateJob(job: Job, options: ValidationOptions = {}): JobValidation {
  return { errors: jobErrors(job, options), warnings: jobWarnings(job, options) };
}

function jobErrors(job: Job, options: ValidationOptions): string[] {
  return [
    ...identityErrors(job),
    ...metaErrors(job.Meta),
    ...typeErrors(job),
    ...datacenterErrors(job),
    ...(job.Multiregion === null ? [] : multiregionErrors(job.Multiregion)),
    ...descriptionErrors(job),
    ...(job.TaskGroups.length === 0 ? ['Missing job task groups'] : []),
    ...validateConstraints(job.Constraints),
    ...systemErrors(job),
    ...validateAffinities(job.Affinities),
    ...validateSpreads(job.Spreads),
    ...groupsTogetherErrors(job),
    ...job.TaskGroups.flatMap((group) => {
      const errors = taskGroupErrors(group, job);
      return errors.length === 0 ? [] : [`Task group ${group.Name} validation failed: ${nestedList(errors)}`];
    }),
    ...(job.Periodic === null ? [] : periodicErrors(job.Periodic, job.Type)),
    ...(job.ParameterizedJob === null ? [] : parameterizedErrors(job.ParameterizedJob, job.Type)),
    ...submissionErrors(job, options),
  ];
}

function identityErrors(job: Job): string[] {
  const errors: string[] = [];
  if (job.Region === '') errors.push('Missing job region');
  for (const item of jobIdErrors(job.ID)) errors.push(item);
  for (const item of nameLengthErrors('Job ID', job.ID, MAX_JOB_ID_BYTES)) errors.push(item);
  if (job.Name === '') errors.push('Missing job name');
  if (job.Name.includes('\0')) errors.push('Job Name contains a null character');
  else if (hasControlCharacters(job.Name)) errors.push('Job Name contains a control character');
  for (const item of nameLengthErrors('Job Name', job.Name, MAX_JOB_NAME_BYTES)) errors.push(item);
  if (job.Namespace === '') errors.push('Job must be in a namespace');
  return errors;
}

function typeErrors({ Type }: Job): string[] {
  if (Type === '') return ['Missing job type'];
  return JOB_TYPES.has(Type) || Type === CORE_TYPE ? [] : [`Invalid job type: "${Type}"`];
}

function datacenterErrors(job: Job): string[] {
  const { Datacenters } = job;
  if (Datacenters.length === 0 && !isMultiregion(job)) return ['Missing job datacenters'];
  return [
    ...(Datacenters.includes('') ? ['Job datacenter must be non-empty string'] : []),
    ...Datacenters.flatMap((datacenter) => nameLengthErrors('Job datacenter', datacenter, MAX_DATACENTER_BYTES)),
  ];
}

function descriptionErrors({ UI }: Job): string[] {
  const length = UI?.Description.length ?? 0;
  return length > MAX_LONG_DESCRIPTION_CHARS
    ? [`UI description must be under ${MAX_LONG_DESCRIPTION_CHARS} characters, currently ${length}`]
    : [];
}

function systemErrors(job: Job): string[] {
  if (job.Type !== 'system') return [];
  return [
    ...(job.Affinities === null ? [] : ['System jobs may not have an affinity block']),
    ...(job.Spreads === null ? [] : ['System jobs may not have a spread block']),
  ];
}

function groupsTogetherErrors(job: Job): string[] {
  const errors: string[] = [];
  const firstWithName = new Map<string, number>();
  for (const [index, group] of job.TaskGroups.entries()) {
    const other = firstWithName.get(group.Name);
    if (group.Name === '') errors.push(`Job task group ${index + 1} missing name`);
    else if (other !== undefined) {
      errors.push(`Job task group ${index + 1} redefines '${group.Name}' from group ${other}`);
    } else firstWithName.set(group.Name, index + 1);
    if ((group.ShutdownDelay ?? 0) < 0) errors.push('ShutdownDelay must be a positive value');
    if (job.Type === 'system' && group.Count > 1) {
      errors.push(`Job task group ${group.Name} has count ${group.Count}. Count cannot exceed 1 with system scheduler`);
    }
  }
  return errors;
}

/** Errors of a periodic configuration (API-331). */
function periodicErrors(periodic: PeriodicConfig, jobType: string): string[] {
  const errors: string[] = [];
  if (jobType !== 'batch' && jobType !== 'sysbatch') {
    errors.push('Periodic can only be used with "batch" or "sysbatch" scheduler');
  }
  if (!periodic.Enabled) return errors;
  if (periodic.Spec !== '' && periodic.Specs !== null) errors.push('Only cron or crons may be used');
  if (periodic.Spec === '' && periodic.Specs === null) errors.push('Must specify a spec');
  if (!isTimeZone(periodic.TimeZone)) {
    errors.push(`Invalid time zone "${periodic.TimeZone}": unknown time zone ${periodic.TimeZone}`);
  }
  if (periodic.SpecType !== 'cron') errors.push(`Unknown periodic specification type "${periodic.SpecType}"`);
  else for (const item of cronErrors(periodic)) errors.push(item);
  return errors;
}

function cronErrors(periodic: PeriodicConfig): string[] {
  return specsOf(periodic).flatMap((spec) => {
    try {
      checkCron(spec);
      return [];
    } catch (error) {
      return error instanceof CronSpecError ? [error.message] : [];
    }
  });
}

function isTimeZone(name: string): boolean {
  if (name === 'Local') return true;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name }).format();
    return true;
  } catch {
    return false;
  }
}

function parameterizedErrors(config: ParameterizedJobConfig, jobType: string): string[] {
  const errors: string[] = [];
  if (jobType !== 'batch' && jobType !== 'sysbatch') {
    errors.push('Parameterized job can only be used with "batch" or "sysbatch" scheduler');
  }
  if (!['optional', 'required', 'forbidden'].includes(config.Payload)) {
    errors.push(`Unknown payload requirement: "${config.Payload}"`);
  }
  const required = new Set(config.MetaRequired);
  const both = (config.MetaOptional ?? []).filter((key) => required.has(key));
  if (both.length > 0) {
    errors.push(
      `Required and optional meta keys should be disjoint. Following keys exist in both: [${both.join(' ')}]`,
    );
  }
  return errors;
}

/** Returns the errors that are reported last (API-347). */
function submissionErrors(job: Job, options: ValidationOptions): string[] {
  const errors: string[] = [];
  if (job.Type === CORE_TYPE) errors.push('job type cannot be core');
  if (job.Payload !== null && job.Payload !== '' && options.isDispatched !== true) {
    errors.push("job can't be submitted with a payload, only dispatched");
  }
  if (job.Priority < MIN_PRIORITY || job.Priority > MAX_PRIORITY) {
    errors.push(`job priority must be between [${MIN_PRIORITY}, ${MAX_PRIORITY}]`);
  }
  if (options.jobMaxCount !== undefined)
    for (const item of totalCountErrors(job, options.jobMaxCount)) errors.push(item);
  return errors;
}

/** Returns an error if all groups together ask for more than `most` allocations (API-173, API-330). */
export function totalCountErrors({ TaskGroups }: Pick<Job, 'TaskGroups'>, most: number): string[] {
  const total = TaskGroups.reduce((sum, group) => sum + group.Count, 0);
  return total > most ? [`total count was greater than configured job_max_count: ${total} > ${most}`] : [];
}

function jobWarnings(job: Job, options: ValidationOptions): string[] {
  const context = { memoryOversubscription: options.memoryOversubscription ?? true };
  const warnings = job.TaskGroups.flatMap((group) => taskGroupWarnings(group, context));
  const withCanaries = job.TaskGroups.filter((group) => (group.Update?.Canary ?? 0) > 0);
  const promoting = withCanaries.filter((group) => group.Update?.AutoPromote === true);
  if (promoting.length > 0 && promoting.length < withCanaries.length) {
    warnings.push('auto_promote must be true for all groups to enable automatic promotion');
  }
  if (job.Periodic !== null && job.Periodic.Spec !== '') {
    warnings.push('cron is deprecated and may be removed in a future release. Use crons instead');
  }
  return warnings;
}
