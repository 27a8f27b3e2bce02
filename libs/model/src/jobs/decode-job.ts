import { canonicaliseJob, type SubmissionContext } from '../canonical/canonicalise-job.js';
import { DecodeError } from '../encoding/decode-error.js';
import type { Job } from './job.js';
import { jobShape, type GivenJob } from './job-shape.js';
import { readShape } from '../encoding/wire-shape.js';

/** API-350: group fields that are dropped, in the words of their warnings. */
const DROPPED_GROUP_FIELDS: readonly (readonly [field: string, warning: string])[] = [
  ['MaxClientDisconnect', 'MaxClientDisconnect is deprecated and ignored in favor of Disconnect.LostAfter'],
  [
    'StopAfterClientDisconnect',
    'StopAfterClientDisconnect is deprecated and ignored favor of Disconnect.StopOnClientAfter',
  ],
  ['PreventRescheduleOnLost', 'PreventRescheduleOnLost is deprecated and ignored in favor of Disconnect.Replace'],
];

/**
 * The stored form of a client's job (http-api.md section 3, steps 1 to 3): types checked, blocks merged down, defaults
 * and implicit constraints filled in. The result is complete, but not yet validated. Throws DecodeError (400).
 */
export function decodeJob(json: unknown, context: SubmissionContext = { region: 'global', submitTimeNs: 0 }): Job {
  const given: GivenJob = readShape(jobShape, json);
  if (given.ID === undefined) throw new DecodeError("Job ID hasn't been provided");
  return complete(given, context);
}

/** As `decodeJob`, of a job that is only validated: that its ID is missing is for validation to say (API-181). */
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
 * Warnings about a client's job that the stored form cannot tell any more (API-314). Takes what decodeJob accepted.
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
