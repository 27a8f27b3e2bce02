import type { RestartPolicy } from '../jobs/shared-blocks.js';
import { NS_PER_SECOND } from '../time/clock.js';
import { formatDuration } from '../time/duration.js';
import type { DisconnectStrategy, MigrateStrategy, ReschedulePolicy, UpdateStrategy } from '../jobs/task-group.js';

const MIN_RESTART_INTERVAL_NS = 5 * NS_PER_SECOND;
const MIN_RESCHEDULE_INTERVAL_NS = 15 * NS_PER_SECOND;
const MIN_RESCHEDULE_DELAY_NS = 5 * NS_PER_SECOND;
/**
 * Most attempts whose delays are added one by one. More would let a client cause any amount of work, and the delay
 * reaches its ceiling long before.
 */
const MAX_COUNTED_ATTEMPTS = 10_000;

/** Errors of a restart policy (API-338). */
export function validateRestartPolicy(policy: RestartPolicy): string[] {
  const { Attempts, Interval, Delay, Mode } = policy;
  const errors: string[] = [];
  if (Mode !== 'delay' && Mode !== 'fail') return [`Unsupported restart mode: "${Mode}"`];
  if (Attempts === 0 && Mode !== 'fail') errors.push(`Restart policy "${Mode}" with 0 attempts is ambiguous`);
  if (Interval < MIN_RESTART_INTERVAL_NS) {
    errors.push(`Interval can not be less than 5s (got ${formatDuration(Interval)})`);
  }
  if (Attempts * Delay > Interval) {
    errors.push(
      `Nomad can't restart the TaskGroup ${Attempts} times in an interval of ${formatDuration(Interval)} ` +
        `with a delay of ${formatDuration(Delay)}`,
    );
  }
  return errors;
}

/**
 * Returns the errors of a reschedule policy (API-338). A policy with neither attempts nor unlimited is disabled and
 * always valid.
 */
export function validateReschedulePolicy(policy: ReschedulePolicy): string[] {
  const { Attempts, Interval, Delay, DelayFunction, MaxDelay, Unlimited } = policy;
  if (Attempts <= 0 && !Unlimited) return [];
  const errors: string[] = [];
  if (Attempts > 0 && Interval <= 0) errors.push('Interval must be a non zero value if Attempts > 0');
  if (Attempts > 0 && Unlimited) {
    errors.push(
      `Reschedule Policy with Attempts = ${Attempts}, Interval = ${formatDuration(Interval)}, ` +
        'and Unlimited = true is ambiguous',
      'If Attempts >0, Unlimited cannot also be set to true',
    );
  }
  const delayErrors = rescheduleDelayErrors(Delay, DelayFunction, MaxDelay);
  for (const item of delayErrors) errors.push(item);
  if (!Unlimited) {
    if (Interval < MIN_RESCHEDULE_INTERVAL_NS) {
      errors.push(`Interval cannot be less than 15s (got ${formatDuration(Interval)})`);
    }
    if (delayErrors.length === 0) for (const item of attemptsErrors(policy)) errors.push(item);
  }
  return errors;
}

function rescheduleDelayErrors(delay: number, delayFunction: string, maxDelay: number): string[] {
  const errors: string[] = [];
  if (delay < MIN_RESCHEDULE_DELAY_NS) errors.push(`Delay cannot be less than 5s (got ${formatDuration(delay)})`);
  if (!['constant', 'exponential', 'fibonacci'].includes(delayFunction)) {
    errors.push(`Invalid delay function "${delayFunction}", must be one of ["constant" "exponential" "fibonacci"]`);
  }
  if (delayFunction === 'constant') return errors;
  if (maxDelay < MIN_RESCHEDULE_DELAY_NS) {
    errors.push(`Max Delay cannot be less than 5s (got ${formatDuration(maxDelay)})`);
  }
  if (maxDelay < delay) {
    errors.push(`Max Delay cannot be less than Delay ${formatDuration(delay)} (got ${formatDuration(maxDelay)})`);
  }
  return errors;
}

/** Whether all attempts fit in the interval. */
function attemptsErrors(policy: ReschedulePolicy): string[] {
  const { Attempts, Interval, Delay, DelayFunction, MaxDelay } = policy;
  const { possible, neededNs } = DelayFunction === 'constant' ? constantFit(policy) : growingFit(policy);
  if (possible >= Attempts) return [];
  const ceiling = DelayFunction === 'constant' ? '' : `, and delay ceiling ${formatDuration(MaxDelay)}`;
  return [
    `Nomad can only make ${possible} attempts in ${formatDuration(Interval)} ` +
      `with initial delay ${formatDuration(Delay)} and delay function "${DelayFunction}"${ceiling}`,
    `Set the interval to at least ${formatDuration(neededNs)} to accommodate ${Attempts} attempts`,
  ];
}

interface Fit {
  possible: number;
  neededNs: number;
}

function constantFit({ Attempts, Interval, Delay }: ReschedulePolicy): Fit {
  const neededNs = Attempts * Delay;
  return { possible: Interval < neededNs ? Math.floor(Interval / Delay) : Attempts, neededNs };
}

/**
 * Computes the attempts that fit while the delay grows. Below the ceiling only the newest delay counts, because it
 * roughly includes those before it. From the ceiling on, the delays are added.
 */
function growingFit({ Attempts, Interval, Delay, DelayFunction, MaxDelay }: ReschedulePolicy): Fit {
  const counted = Math.min(Attempts, MAX_COUNTED_ATTEMPTS);
  let possible = 0;
  let neededNs = 0;
  let [current, next] = [Delay, DelayFunction === 'fibonacci' ? Delay : 2 * Delay];
  for (let attempt = 0; attempt < counted; attempt++) {
    neededNs = current > MaxDelay ? neededNs + MaxDelay : current;
    if (neededNs < Interval) possible++;
    [current, next] = DelayFunction === 'fibonacci' ? [next, current + next] : [next, 2 * next];
  }
  neededNs += (Attempts - counted) * MaxDelay;
  return { possible: possible === counted && neededNs < Interval ? Attempts : possible, neededNs };
}

/** Errors of an update strategy (API-337). */
export function validateUpdateStrategy(update: UpdateStrategy): string[] {
  const errors: string[] = [];
  if (!['checks', 'task_states', 'manual'].includes(update.HealthCheck)) {
    errors.push(`Invalid health check given: "${update.HealthCheck}"`);
  }
  if (update.MaxParallel < 0) {
    errors.push(`Max parallel can not be less than zero: ${update.MaxParallel} < 0`);
  }
  if (update.Canary < 0) errors.push(`Canary count can not be less than zero: ${update.Canary} < 0`);
  if (update.Canary === 0 && update.AutoPromote) {
    errors.push('Auto Promote requires a Canary count greater than zero');
  }
  return [...errors, ...updateTimeErrors(update)];
}

function updateTimeErrors(update: UpdateStrategy): string[] {
  const errors: string[] = [];
  const [minHealthy, healthy, progress, stagger] = [
    formatDuration(update.MinHealthyTime),
    formatDuration(update.HealthyDeadline),
    formatDuration(update.ProgressDeadline),
    formatDuration(update.Stagger),
  ];
  if (update.MinHealthyTime < 0) errors.push(`Minimum healthy time may not be less than zero: ${minHealthy}`);
  if (update.HealthyDeadline <= 0) errors.push(`Healthy deadline must be greater than zero: ${healthy}`);
  if (update.ProgressDeadline < 0) errors.push(`Progress deadline must be zero or greater: ${progress}`);
  if (update.MinHealthyTime >= update.HealthyDeadline) {
    errors.push(`Minimum healthy time must be less than healthy deadline: ${minHealthy} > ${healthy}`);
  }
  if (update.ProgressDeadline !== 0 && update.HealthyDeadline >= update.ProgressDeadline) {
    errors.push(`Healthy deadline must be less than progress deadline: ${healthy} > ${progress}`);
  }
  if (update.Stagger <= 0) errors.push(`Stagger must be greater than zero: ${stagger}`);
  return errors;
}

/** Errors of a migrate strategy (API-337). */
export function validateMigrateStrategy(migrate: MigrateStrategy): string[] {
  const errors: string[] = [];
  if (migrate.MaxParallel < 0) errors.push(`MaxParallel must be >= 0 but found ${migrate.MaxParallel}`);
  if (migrate.HealthCheck === '') errors.push('Missing HealthCheck');
  else if (migrate.HealthCheck !== 'checks' && migrate.HealthCheck !== 'task_states') {
    errors.push(`Invalid HealthCheck: "${migrate.HealthCheck}"`);
  }
  if (migrate.MinHealthyTime < 0) {
    errors.push(`MinHealthyTime is ${formatDuration(migrate.MinHealthyTime)} and must be >= 0`);
  }
  if (migrate.HealthyDeadline < 0) {
    errors.push(`HealthyDeadline is ${formatDuration(migrate.HealthyDeadline)} and must be >= 0`);
  }
  if (migrate.MinHealthyTime > migrate.HealthyDeadline) {
    errors.push('MinHealthyTime must be less than HealthyDeadline');
  }
  return errors;
}

/** Errors of a disconnect strategy, which depend on the type of the job (API-336). */
export function validateDisconnect(disconnect: DisconnectStrategy, jobType: string): string[] {
  const errors: string[] = [];
  const stopAfter = disconnect.StopOnClientAfter;
  if (stopAfter !== null) {
    if (jobType !== 'service' && jobType !== 'batch') {
      errors.push('stop_after can only be used with service or batch job types');
    }
    if (stopAfter < 0) errors.push('stop_after cannot be a negative duration');
    if (disconnect.LostAfter !== 0) errors.push('Disconnect cannot be configured with both lost_after and stop_after');
  }
  if (disconnect.LostAfter < 0) errors.push('lost_after cannot be a negative duration');
  if (!['keep_original', 'keep_replacement', 'best_score', 'longest_running'].includes(disconnect.Reconcile)) {
    errors.push(`reconcile option is invalid: ${disconnect.Reconcile}`);
  }
  return errors;
}
