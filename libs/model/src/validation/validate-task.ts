import { formatDuration } from '../time/duration.js';
import { ACTION_NAME, MAX_TASK_NAME_BYTES, nameLengthErrors } from '../limits/name-limits.js';
import { nestedList } from './message-list.js';
import type { Constraint } from '../jobs/placement-rules.js';
import { metaErrors, pathErrors, taskNameErrors, variableErrors } from './safe-name.js';
import type { Resources } from '../nodes/resources.js';
import type { Service } from '../jobs/service.js';
import type { LogConfig, Task, TaskArtifact, Template } from '../jobs/task.js';
import type { TaskGroup } from '../jobs/task-group.js';
import { identitiesErrors, identitiesWarnings } from './validate-identity.js';
import { validateAffinities, validateConstraints } from './validate-placement.js';
import { repeatedCheckErrors, serviceErrors } from './validate-service.js';
import { mountErrors, pluginErrors } from './validate-volume.js';

const MIN_CPU_MHZ = 1;
const MIN_MEMORY_MB = 10;
const MAX_PERMS = 0o7777;

/** Returns the errors of one task of the group (API-340 to API-344), without the prefix of the task. */
export function taskErrors(task: Task, group: TaskGroup, jobType: string): string[] {
  return [
    ...taskNameErrors(task.Name),
    ...nameLengthErrors('Task name', task.Name, MAX_TASK_NAME_BYTES),
    ...variableErrors(task.Env),
    ...metaErrors(task.Meta),
    ...(task.Driver === '' ? ['Missing task driver'] : []),
    ...timeErrors(task, group, jobType),
    ...validateResources(task.Resources),
    ...logErrors(task.LogConfig, group),
    ...validateConstraints(task.Constraints),
    ...disallowedOperandErrors(task.Constraints, 'task'),
    ...systemErrors(task, jobType),
    ...validateAffinities(task.Affinities),
    ...taskServicesErrors(task, group),
    ...(task.Artifacts ?? []).flatMap(artifactErrors),
    ...templatesErrors(task.Templates ?? []),
    ...lifecycleErrors(task),
    ...vaultErrors(task),
    ...payloadErrors(task),
    ...actionErrors(task),
    ...duplicateErrors(task),
    ...identitiesErrors(task),
    ...mountErrors(task, group),
    ...pluginErrors(task),
    ...inexactNumbers(task.Config, 'config'),
    ...(task.Schedule === null ? [] : ['task schedules requires Nomad Enterprise']),
  ];
}

/**
 * Returns integers that were rounded on their way. A driver's configuration is free in form, so the server does not
 * know which of its numbers must be exact (API-15). @param place path of the value, for the message
 */
function inexactNumbers(value: unknown, place: string): string[] {
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    return [`${place} is a whole number beyond 2^53, which is not kept exactly: give it as a string`];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => inexactNumbers(member, `${place}.${name}`));
}

/** Returns the warnings about a task (API-350, AU-124), without the prefix of the task. */
export function taskWarnings(task: Task): string[] {
  const warnings: string[] = [];
  if (task.Resources.IOPS !== 0) {
    warnings.push('IOPS has been deprecated as of Nomad 0.9.0. Please remove IOPS from resource block.');
  }
  if (task.Resources.Networks !== null) {
    warnings.push(
      'task network resources have been deprecated as of Nomad 0.12.0. ' +
        'Please configure networking via group network block.',
    );
  }
  return [...warnings, ...identitiesWarnings(task)];
}

function timeErrors(task: Task, group: TaskGroup, jobType: string): string[] {
  const errors: string[] = [];
  if (task.KillTimeout < 0) errors.push('KillTimeout must be a positive value');
  const deadline = group.Update?.ProgressDeadline ?? 0;
  if (jobType === 'service' && deadline > 0 && task.KillTimeout > deadline) {
    // Clients know this misspelled text.
    errors.push(
      `KillTimout (${formatDuration(task.KillTimeout)}) longer than the group's ` +
        `ProgressDeadline (${formatDuration(deadline)})`,
    );
  }
  if (task.ShutdownDelay < 0) errors.push('ShutdownDelay must be a positive value');
  return errors;
}

/** Errors of the resources of a task (API-341). */
export function validateResources(resources: Resources): string[] {
  const errors: string[] = [];
  if (resources.Cores > 0 && resources.CPU > 0) {
    errors.push("Task can only ask for 'cpu' or 'cores' resource, not both.");
  }
  if (resources.Cores < 0) errors.push(`cores value (${resources.Cores}) cannot be negative`);
  if (resources.Cores <= 0 && resources.CPU < MIN_CPU_MHZ) {
    errors.push(`minimum CPU value is ${MIN_CPU_MHZ}; got ${resources.CPU}`);
  }
  if (resources.MemoryMB < MIN_MEMORY_MB) {
    errors.push(`minimum MemoryMB value is ${MIN_MEMORY_MB}; got ${resources.MemoryMB}`);
  }
  const [memory, most] = [resources.MemoryMB, resources.MemoryMaxMB];
  if (most !== 0 && most !== -1 && most < memory) {
    errors.push(`MemoryMaxMB value (${most}) should be larger than MemoryMB value (${memory})`);
  }
  if (resources.SecretsMB > memory) {
    errors.push(`SecretsMB value (${resources.SecretsMB}) cannot be larger than MemoryMB value (${memory})`);
  }
  if (resources.SecretsMB < 0) errors.push(`SecretsMB value (${resources.SecretsMB}) cannot be negative`);
  return [...errors, ...deviceErrors(resources)];
}

function deviceErrors(resources: Resources): string[] {
  const devices = resources.Devices ?? [];
  const errors = devices.flatMap((device, index) => {
    const problems = [
      ...(device.Name === ''
        ? ['device name must be given as one of the following: type, vendor/type, or vendor/type/name']
        : []),
      ...validateConstraints(device.Constraints),
      ...disallowedOperandErrors(device.Constraints, 'device'),
      ...validateAffinities(device.Affinities),
    ];
    return problems.length === 0 ? [] : [`device ${index + 1} failed validation: ${nestedList(problems)}`];
  });
  const requested = new Set(devices.map((device) => device.Name));
  for (const name of resources.NUMA?.Devices ?? []) {
    if (!requested.has(name)) errors.push(`numa device "${name}" not requested as task resource`);
  }
  return errors;
}

function logErrors(log: LogConfig, group: TaskGroup): string[] {
  const errors: string[] = [];
  if (log.MaxFiles < 1) errors.push(`minimum number of files is 1; got ${log.MaxFiles}`);
  if (log.MaxFileSizeMB < 1) errors.push(`minimum file size is 1MB; got ${log.MaxFileSizeMB}`);
  const logMb = log.MaxFiles * log.MaxFileSizeMB;
  if (logMb >= group.EphemeralDisk.SizeMB) {
    errors.push(
      `log storage (${logMb} MB) must be less than requested disk capacity (${group.EphemeralDisk.SizeMB} MB)`,
    );
  }
  return errors;
}

/** Errors of constraints whose operand is not allowed for a task or a device (API-333). */
function disallowedOperandErrors(constraints: readonly Constraint[] | null, level: 'task' | 'device'): string[] {
  return (constraints ?? []).flatMap(({ Operand }, index) =>
    Operand === 'distinct_hosts' || Operand === 'distinct_property'
      ? [`Constraint ${index + 1} has disallowed Operand at ${level} level: ${Operand}`]
      : [],
  );
}

function systemErrors(task: Task, jobType: string): string[] {
  return jobType === 'system' && task.Affinities !== null ? ['System jobs may not have an affinity block'] : [];
}

/** Returns the errors of the task's services (API-343). */
function taskServicesErrors(task: Task, group: TaskGroup): string[] {
  const services = task.Services ?? [];
  const seen = new Set<string>();
  const errors: string[] = [];
  for (const [index, service] of services.entries()) {
    const own = [...serviceErrors(service), ...taskServiceErrors(service, task)];
    if (own.length > 0) errors.push(`service[${index}] "${service.Name}" validation failed: ${nestedList(own)}`);
    const key = `${service.Name}:${service.PortLabel}`;
    if (seen.has(key)) errors.push(`service "${service.Name}" is duplicate`);
    seen.add(key);
    for (const item of repeatedCheckErrors(service)) errors.push(item);
  }
  return [...errors, ...unknownPortErrors(services, task, group)];
}

function taskServiceErrors(service: Service, task: Task): string[] {
  const errors: string[] = [];
  if (service.TaskName !== task.Name) {
    errors.push(
      `Service ${service.Name} is invalid: may only specify task the service belongs to, got "${service.TaskName}"`,
    );
  }
  if (service.AddressMode === 'alloc' || service.AddressMode === 'alloc_ipv6') {
    errors.push(
      `service "${service.Name}" cannot use address_mode="${service.AddressMode}", ` +
        'only services defined in a "group" block can use this mode',
    );
  }
  return errors;
}

function unknownPortErrors(services: readonly Service[], task: Task, group: TaskGroup): string[] {
  const networks = [...(group.Networks ?? []), ...(task.Resources.Networks ?? [])];
  const ports = networks.flatMap(({ ReservedPorts, DynamicPorts }) => [
    ...(ReservedPorts ?? []),
    ...(DynamicPorts ?? []),
  ]);
  const known = new Set(['', ...ports.map((port) => port.Label)]);
  const users = new Map<string, string[]>();
  for (const service of services) {
    const isNumberOfDriver = service.AddressMode === 'driver' && /^\d+$/.test(service.PortLabel);
    if (known.has(service.PortLabel) || isNumberOfDriver) continue;
    users.set(service.PortLabel, [...(users.get(service.PortLabel) ?? []), service.Name]);
  }
  return [...users].map(
    ([label, names]) => `port label "${label}" referenced by services ${names.join(', ')} does not exist`,
  );
}

function artifactErrors(artifact: TaskArtifact, index: number): string[] {
  const errors: string[] = [];
  if (artifact.GetterSource === '') errors.push('source must be specified');
  if (!['any', 'file', 'dir'].includes(artifact.GetterMode)) {
    errors.push(`invalid artifact mode "${artifact.GetterMode}"; must be one of: any, file, dir`);
  }
  if (escapesTaskDirectory(artifact.RelativeDest)) errors.push('destination escapes allocation directory');
  for (const item of pathErrors(artifact.RelativeDest, 'destination')) errors.push(item);
  return errors.length === 0 ? [] : [`Artifact ${index + 1} validation failed: ${nestedList(errors)}`];
}

function templatesErrors(templates: readonly Template[]): string[] {
  const firstWithDestination = new Map<string, number>();
  return templates.flatMap((template, index) => {
    const errors = templateErrors(template);
    const messages = errors.length === 0 ? [] : [`Template ${index + 1} validation failed: ${nestedList(errors)}`];
    const other = firstWithDestination.get(template.DestPath);
    if (other !== undefined) messages.push(`Template ${index + 1} has same destination as ${other}`);
    else firstWithDestination.set(template.DestPath, index + 1);
    return messages;
  });
}

function templateErrors(template: Template): string[] {
  const errors: string[] = [];
  if (template.SourcePath === '' && template.EmbeddedTmpl === '') {
    errors.push('Must specify a source path or have an embedded template');
  }
  if (template.DestPath === '') errors.push('Must specify a destination for the template');
  if (escapesTaskDirectory(template.DestPath)) errors.push('destination escapes allocation directory');
  for (const item of pathErrors(template.DestPath, 'destination')) errors.push(item);
  for (const item of pathErrors(template.SourcePath, 'source')) errors.push(item);
  if (!['noop', 'restart', 'signal', 'script'].includes(template.ChangeMode)) {
    errors.push(`Invalid change mode given: "${template.ChangeMode}"`);
  }
  if (template.ChangeMode === 'signal') {
    if (template.ChangeSignal === '') errors.push('Must specify signal value when change mode is signal');
    if (template.Envvars) errors.push('cannot use signals with env var templates');
  }
  if (template.Splay < 0) errors.push('Must specify positive splay value');
  if (template.Perms !== '' && !isFileMode(template.Perms)) {
    errors.push(`Failed to parse "${template.Perms}" as octal: invalid syntax`);
  }
  return errors;
}

function isFileMode(text: string): boolean {
  return /^[0-7]+$/.test(text) && Number.parseInt(text, 8) <= MAX_PERMS;
}

function lifecycleErrors({ Lifecycle }: Task): string[] {
  if (Lifecycle === null) return [];
  if (Lifecycle.Hook === '') return ['Lifecycle validation failed: no lifecycle hook provided'];
  const isKnown = ['prestart', 'poststart', 'poststop'].includes(Lifecycle.Hook);
  return isKnown ? [] : [`Lifecycle validation failed: invalid hook: ${Lifecycle.Hook}`];
}

const VAULT_CHANGE_MODES = ['noop', 'restart', 'signal'];

/** Returns the errors of a `vault` block (AU-163). */
function vaultErrors({ Vault }: Task): string[] {
  if (Vault === null) return [];
  const errors = VAULT_CHANGE_MODES.includes(Vault.ChangeMode) ? [] : [`Unknown change mode "${Vault.ChangeMode}"`];
  if (Vault.ChangeMode === 'signal' && Vault.ChangeSignal === '')
    errors.push('Signal must be specified when using change mode "signal"');
  return errors.map((error) => `Vault validation failed: ${error}`);
}

function payloadErrors({ DispatchPayload }: Task): string[] {
  if (DispatchPayload === null) return [];
  const { File } = DispatchPayload;
  const errors = escapesTaskDirectory(File) ? ['destination escapes allocation directory'] : pathErrors(File, 'file');
  return errors.map((error) => `Dispatch Payload validation failed: ${error}`);
}

function actionErrors(task: Task): string[] {
  const seen = new Set<string>();
  return (task.Actions ?? []).flatMap((action) => {
    const errors: string[] = [];
    if (!ACTION_NAME.test(action.Name)) errors.push(`invalid name '${action.Name}'`);
    if (action.Command === '') errors.push('command cannot be empty');
    const messages = errors.length === 0 ? [] : [`Action ${action.Name} validation failed: ${nestedList(errors)}`];
    if (seen.has(action.Name)) messages.push(`Action ${action.Name} defined multiple times`);
    seen.add(action.Name);
    return messages;
  });
}

function duplicateErrors(task: Task): string[] {
  const errors: string[] = [];
  const secrets = new Set<string>();
  for (const { Name } of task.Secrets ?? []) {
    if (secrets.has(Name)) errors.push(`Duplicate secret "${Name}" found`);
    secrets.add(Name);
  }
  return errors;
}

/** Whether the path leaves the allocation's directory, which contains the task's. Variables are checked on the node. */
function escapesTaskDirectory(path: string): boolean {
  let depth = 1;
  for (const part of path.split('/')) {
    if (part === '..') depth -= 1;
    else if (part !== '' && part !== '.') depth += 1;
    if (depth < 0) return true;
  }
  return false;
}
