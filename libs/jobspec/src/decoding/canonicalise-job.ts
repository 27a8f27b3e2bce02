import { NS_PER_HOUR, NS_PER_MINUTE, NS_PER_SECOND } from '@waybill/model/clock';
import { emptyOf } from './empty-object.js';
import { jobSchema } from './job-schema.js';
import { isJsonObject, type Json, type JsonObject, objectsIn, textAt } from './json.js';
import { checkRestartSchema, migrateSchema, updateSchema } from './policy-schema.js';
import { resourcesSchema, logsSchema } from './resources-schema.js';
import type { AttributeRule, Schema } from './schema.js';
import { groupSchema } from './group-schema.js';

/**
 * The client's half of canonicalisation (jobspec.md §11), for callers that request it from the parse endpoint. The
 * server canonicalises jobs that are registered. Explicit values stay, including zeros.
 */
export function canonicaliseParsedJob(parsed: JsonObject): JsonObject {
  const job = withDefaults(jobSchema, { ...parsed, ...SERVER_ZEROS, TaskGroups: parsed['TaskGroups'] ?? null });
  const type = textAt(job, 'Type');
  const isLongRunning = type === 'service' || type === 'system';
  const update = isJsonObject(job['Update']) ? job['Update'] : null;
  const groups = objectsIn(parsed['TaskGroups']).map((group) => canonicalGroup(group, parsed, job, type));
  return {
    ...job,
    // The group sets the defaults of these two (JS-172, JS-173). Those of `update` also depend on the job (JS-171).
    Migrate: parsed['Migrate'] ?? null,
    Reschedule: parsed['Reschedule'] ?? null,
    Update: update ?? (isLongRunning ? withDefaults(updateSchema, emptyOf(updateSchema)) : null),
    TaskGroups: groups.length === 0 ? null : groups,
  };
}

const SERVER_ZEROS: JsonObject = {
  Stop: false,
  ParentID: '',
  ConsulNamespace: '',
  VaultNamespace: '',
  NomadTokenID: '',
  Status: '',
  StatusDescription: '',
  Stable: false,
  Version: 0,
  CreateIndex: 0,
  ModifyIndex: 0,
  JobModifyIndex: 0,
};

const SERVICE_RESCHEDULE: JsonObject = {
  Attempts: 0,
  Interval: 0,
  Delay: 30 * NS_PER_SECOND,
  DelayFunction: 'exponential',
  MaxDelay: NS_PER_HOUR,
  Unlimited: true,
};
const BATCH_RESCHEDULE: JsonObject = {
  Attempts: 1,
  Interval: 24 * NS_PER_HOUR,
  Delay: 5 * NS_PER_SECOND,
  DelayFunction: 'constant',
  MaxDelay: 0,
  Unlimited: false,
};
/** A job of an unknown type gets a reschedule policy of zeros (JS-175). */
const UNKNOWN_RESCHEDULE: JsonObject = {
  Attempts: 0,
  Interval: 0,
  Delay: 0,
  DelayFunction: '',
  MaxDelay: 0,
  Unlimited: false,
};
const SERVICE_RESTART: JsonObject = {
  Attempts: 2,
  Interval: 30 * NS_PER_MINUTE,
  Delay: 15 * NS_PER_SECOND,
  Mode: 'fail',
  RenderTemplates: false,
};
const BATCH_RESTART: JsonObject = { ...SERVICE_RESTART, Attempts: 3, Interval: 24 * NS_PER_HOUR };

function canonicalGroup(group: JsonObject, given: JsonObject, job: JsonObject, type: string): JsonObject {
  const isLongRunning = type === 'service' || type === 'system';
  const restart = overlaid(isLongRunning ? SERVICE_RESTART : BATCH_RESTART, group['RestartPolicy']);
  const scaling = isJsonObject(group['Scaling']) ? group['Scaling'] : null;
  const Count = group['Count'] ?? scaling?.['Min'] ?? 1;
  const filled = withDefaults(groupSchema, group);
  const policies = {
    // The group's values precede the job's, and these precede the defaults (JS-171 to JS-173).
    Update:
      isLongRunning || hasBoth(given, group, 'Update') ? merged(updateSchema, given['Update'], group['Update']) : null,
    Migrate:
      type === 'service' || hasBoth(given, group, 'Migrate')
        ? merged(migrateSchema, given['Migrate'], group['Migrate'])
        : null,
    ReschedulePolicy: reschedule(type, given['Reschedule'], group['ReschedulePolicy']),
    RestartPolicy: restart,
  };
  const scope = `${textAt(job, 'Name')}-${textAt(group, 'Name')}`;
  const services = objectsIn(filled['Services']).map((service) => canonicalService(service, scope));
  const tasks = objectsIn(filled['Tasks']).map((task) => canonicalTask(task, restart, scope));
  return {
    ...filled,
    ...policies,
    Count,
    EphemeralDisk: filled['EphemeralDisk'] ?? { Sticky: false, Migrate: false, SizeMB: 300 },
    Scaling: isJsonObject(filled['Scaling']) ? { ...filled['Scaling'], Min: filled['Scaling']['Min'] ?? Count } : null,
    Services: services.length === 0 ? null : services,
    Tasks: tasks.length === 0 ? null : tasks,
  };
}

function reschedule(type: string, job: Json | undefined, group: Json | undefined): JsonObject | null {
  if (type === 'system' || type === 'sysbatch') return null;
  const known: Readonly<Record<string, JsonObject>> = { service: SERVICE_RESCHEDULE, batch: BATCH_RESCHEDULE };
  return overlaid(overlaid(known[type] ?? UNKNOWN_RESCHEDULE, job), group);
}

function canonicalTask(task: JsonObject, groupRestart: JsonObject, scope: string): JsonObject {
  const services = objectsIn(task['Services']).map((one) => canonicalService(one, `${scope}-${textAt(task, 'Name')}`));
  const templates = objectsIn(task['Templates']).map(canonicalTemplate);
  const artifacts = objectsIn(task['Artifacts']).map(canonicalArtifact);
  const secrets = objectsIn(task['Secrets']).map((one) => withoutEmpty(one, ['Config', 'Env']));
  return {
    ...task,
    RestartPolicy: overlaid(groupRestart, task['RestartPolicy']),
    Resources: canonicalResources(task['Resources']),
    LogConfig: task['LogConfig'] ?? withDefaults(logsSchema, emptyOf(logsSchema)),
    Services: services.length === 0 ? null : services,
    Templates: templates.length === 0 ? null : templates,
    Artifacts: artifacts.length === 0 ? null : artifacts,
    Secrets: secrets.length === 0 ? null : secrets,
  };
}

function canonicalResources(given: Json | undefined): JsonObject {
  const resources = isJsonObject(given) ? given : withDefaults(resourcesSchema, emptyOf(resourcesSchema));
  const hasCores = typeof resources['Cores'] === 'number' && resources['Cores'] > 0;
  return { ...resources, CPU: resources['CPU'] ?? (hasCores ? 0 : 100) };
}

/** Upper-cases the signal of a template; mode `signal` without one means SIGHUP (JS-174). */
function canonicalTemplate(template: JsonObject): JsonObject {
  const signal = typeof template['ChangeSignal'] === 'string' ? template['ChangeSignal'].toUpperCase() : null;
  return { ...template, ChangeSignal: signal ?? (template['ChangeMode'] === 'signal' ? 'SIGHUP' : '') };
}

/** Gives an artifact its destination; in mode `file` it ends with the last part of the source (JS-174). */
function canonicalArtifact(artifact: JsonObject): JsonObject {
  const last = textAt(artifact, 'GetterSource').split('/').at(-1) ?? '';
  const destination = artifact['GetterMode'] === 'file' ? `local/${last}` : 'local/';
  return {
    ...withoutEmpty(artifact, ['GetterOptions', 'GetterHeaders']),
    RelativeDest: artifact['RelativeDest'] ?? destination,
  };
}

/** Counters of a check, which are at least 0. */
const COUNTERS = ['SuccessBeforePassing', 'FailuresBeforeCritical', 'FailuresBeforeWarning'];

/** Gives a service its name, and its checks the restart rule and `OnUpdate` of the service (JS-174). */
function canonicalService(service: JsonObject, scope: string): JsonObject {
  const checks = objectsIn(service['Checks']).map((check): JsonObject => {
    const restart = mergedCheckRestart(service['CheckRestart'], check['CheckRestart']);
    const counters = COUNTERS.filter((name) => Number(check[name]) < 0).map((name) => [name, 0] as const);
    return {
      ...check,
      ...Object.fromEntries(counters),
      CheckRestart: restart,
      OnUpdate: check['OnUpdate'] || (service['OnUpdate'] ?? ''),
    };
  });
  return {
    ...withoutEmpty(service, ['Meta', 'CanaryMeta', 'TaggedAddresses']),
    Name: service['Name'] || scope,
    Checks: checks.length === 0 ? null : checks,
    Connect: isJsonObject(service['Connect']) ? canonicalConnect(service['Connect']) : null,
  };
}

/** Completes the task of a sidecar like any other task. */
function canonicalConnect(connect: JsonObject): JsonObject {
  const task = connect['SidecarTask'];
  if (!isJsonObject(task)) return connect;
  return {
    ...connect,
    SidecarTask: {
      ...withoutEmpty(task, ['Config', 'Env', 'Meta']),
      Resources: canonicalResources(task['Resources']),
      LogConfig: task['LogConfig'] ?? withDefaults(logsSchema, emptyOf(logsSchema)),
    },
  };
}

function mergedCheckRestart(service: Json | undefined, check: Json | undefined): JsonObject | null {
  if (!isJsonObject(service) && !isJsonObject(check)) return null;
  const own = isJsonObject(check) ? { ...check } : {};
  if (own['Limit'] === 0) delete own['Limit'];
  return withDefaults(checkRestartSchema, overlaid(overlaid(emptyOf(checkRestartSchema), service), own));
}

function withoutEmpty(object: JsonObject, names: readonly string[]): JsonObject {
  const isEmpty = (json: Json | undefined): boolean => isJsonObject(json) && Object.keys(json).length === 0;
  return {
    ...object,
    ...Object.fromEntries(names.filter((name) => isEmpty(object[name])).map((name) => [name, null])),
  };
}

const hasBoth = (job: JsonObject, group: JsonObject, name: string): boolean =>
  job[name] !== null || group[name] !== null;

const merged = (schema: Schema, job: Json | undefined, group: Json | undefined): JsonObject =>
  withDefaults(schema, overlaid(overlaid(emptyOf(schema), job), group));

/** Overlays one object with another. Null members of the upper one do not count. */
function overlaid(lower: JsonObject, upper: Json | undefined): JsonObject {
  if (!isJsonObject(upper)) return { ...lower };
  return { ...lower, ...Object.fromEntries(Object.entries(upper).filter(([, value]) => value !== null)) };
}

/** Fills in the schema's defaults for unset members, in the object and in all nested objects (JS-170). */
function withDefaults(schema: Schema, object: JsonObject): JsonObject {
  const filled: JsonObject = { ...object };
  for (const rule of Object.values(schema.attributes)) {
    if (rule.canonical !== undefined && isUnset(object[rule.json], rule)) filled[rule.json] = rule.canonical;
  }
  for (const rule of Object.values(schema.blocks)) {
    const inner = object[rule.json];
    if (rule.kind !== 'object') continue;
    if (Array.isArray(inner)) filled[rule.json] = objectsIn(inner).map((one) => withDefaults(rule.schema, one));
    else if (isJsonObject(inner)) filled[rule.json] = withDefaults(rule.schema, inner);
  }
  return filled;
}

/** Whether a value is unset. A type without null uses its zero value for that. */
function isUnset(value: Json | undefined, { nullable }: AttributeRule): boolean {
  if (value === null || value === undefined) return true;
  return !nullable && (value === '' || value === 0);
}
