import { canonicaliseJob, type SubmissionContext } from '../canonical/canonicalise-job.js';
import { DecodeError } from '../encoding/decode-error.js';
import type { Job } from './job.js';
import { jobShape, type GivenJob } from './job-shape.js';
import { readShape } from '../encoding/wire-shape.js';

/** Group fields that are dropped, with the texts of their warnings (API-350). */
const DROPPED_GROUP_FIELDS: readonly (readonly [field: string, warning: string])[] = [
  ['MaxClientDisconnect', 'MaxClientDisconnect is deprecated and ignored in favor of Disconnect.LostAfter'],
  [
    'StopAfterClientDisconnect',
    'StopAfterClientDisconnect is deprecated and ignored favor of Disconnect.StopOnClientAfter',
  ],
  ['PreventRescheduleOnLost', 'PreventRescheduleOnLost is deprecated and ignored in favor of Disconnect.Replace'],
];

/**
 * Returns the stored form of a client's job (http-api.md section 3, steps 1 to 3): types are checked, blocks merged
 * down, defaults and implicit constraints filled in. The result is complete, but not yet validated. Throws DecodeError
 * (400).
 */
export function decodeJob(json: unknown, context: SubmissionContext = { region: 'global', submitTimeNs: 0 }): Job {
  const given: GivenJob = readShape(jobShape, json);
  if (given.ID === undefined) throw new DecodeError("Job ID hasn't been provided");
  return complete(given, context);
}

/** Decodes a job that is only validated. A missing ID is left for validation to report (API-181). */
export const decodeJobToValidate = (json: unknown, context: SubmissionContext): Job =>
  complete({ ID: '', ...readShape(jobShape, json) }, context);

function complete(given: GivenJob, context: SubmissionContext): Job {
  const type = given.Type ?? 'service';
  if (type === 'system' && given.TaskGroups?.some((group) => group.Scaling)) {
    throw new DecodeError('Task groups with job type system do not support scaling blocks');
  }
  return canonicaliseJob(given, context);
}

/**
 * Returns warnings about a client's job that do not follow from its stored form (API-314). Takes JSON that decodeJob
 * accepted.
 */
export function droppedFieldWarnings(json: unknown): string[] {
  return listAt(json, 'TaskGroups').flatMap((group) =>
    DROPPED_GROUP_FIELDS.filter(([field]) => isSet(valueAt(group, field))).map(([, text]) => text),
  );
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false;
}

function listAt(json: unknown, name: string): unknown[] {
  const value = valueAt(json, name);
  return Array.isArray(value) ? value : [];
}

function valueAt(json: unknown, name: string): unknown {
  if (typeof json !== 'object' || json === null) return undefined;
  const entries = Object.entries(json);
  const exact = entries.find(([key]) => key === name);
  return (exact ?? entries.find(([key]) => key.toLowerCase() === name.toLowerCase()))?.[1];
}
