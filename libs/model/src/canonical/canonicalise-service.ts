import type { GroupScope } from './group-scope.js';
import type { CheckRestart, Service, ServiceCheck } from '../jobs/service.js';
import type { Given } from '../encoding/wire-shape.js';

/** A submitted service, with the block that is merged into each of its checks. */
type GivenService = Given<Service> & { CheckRestart?: Given<CheckRestart> };

/** Fills in the defaults of a service (API-309). `task` is undefined for a service of the group. */
export function canonicaliseService(scope: GroupScope, service: GivenService, task?: string): Given<Service> {
  const name = serviceName(scope, service.Name, task);
  const isNomad = service.Provider === 'nomad';
  const taskName = service.TaskName || (task ?? '');
  return {
    ...service,
    Name: name,
    TaskName: taskName,
    Namespace: isNomad ? scope.namespace : 'default',
    Weights: service.Weights
      ? { Passing: atLeastOne(service.Weights.Passing), Warning: atLeastOne(service.Weights.Warning) }
      : undefined,
    Checks: service.Checks?.map((check) => ({
      ...canonicaliseCheck(service, name, check),
      // The task name of a check is dropped if the service belongs to a task (API-317).
      TaskName: task === undefined ? (check.TaskName ?? taskName) : taskName,
    })),
  };
}

function canonicaliseCheck(service: GivenService, name: string, check: Given<ServiceCheck>): Given<ServiceCheck> {
  return {
    ...check,
    Name: check.Name || `service: "${name}" check`,
    OnUpdate: check.OnUpdate || service.OnUpdate || 'require_healthy',
    CheckRestart:
      check.CheckRestart || service.CheckRestart ? { ...service.CheckRestart, ...check.CheckRestart } : undefined,
    SuccessBeforePassing: notNegative(check.SuccessBeforePassing),
    FailuresBeforeCritical: notNegative(check.FailuresBeforeCritical),
    FailuresBeforeWarning: notNegative(check.FailuresBeforeWarning),
  };
}

function serviceName(scope: GroupScope, given: string | undefined, task: string | undefined): string {
  const groupName = `${scope.jobName}-${scope.group}`;
  if (given === undefined || given === '') return task === undefined ? groupName : `${groupName}-${task}`;
  // A service of the group has the word `group` in place of the task's name.
  const taskOrGroup = task ?? 'group';
  return given
    .replaceAll('${JOB}', scope.jobName)
    .replaceAll('${TASKGROUP}', scope.group)
    .replaceAll('${TASK}', taskOrGroup)
    .replaceAll('${BASE}', `${groupName}-${taskOrGroup}`);
}

function atLeastOne(weight: number | undefined): number {
  return Math.max(1, weight ?? 1);
}

function notNegative(count: number | undefined): number {
  return Math.max(0, count ?? 0);
}
