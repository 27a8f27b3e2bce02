import type { Job } from '../jobs/job.js';
import type { Task } from '../jobs/task.js';
import type { TaskGroup } from '../jobs/task-group.js';
import {
  byNameAndType,
  diffTypeOf,
  type DiffType,
  type JobDiff,
  type TaskDiff,
  type TaskGroupDiff,
} from './difference.js';
import { diffMembers, type MemberDiffs } from './object-diff.js';

/**
 * Members of a job that are never part of a diff (API-146), including those that API-106 does not count as a change.
 */
const NOT_OF_A_JOB: ReadonlySet<string> = new Set([
  'ID',
  'Status',
  'StatusDescription',
  'Version',
  'Stable',
  'CreateIndex',
  'ModifyIndex',
  'JobModifyIndex',
  'SubmitTime',
  'NomadTokenID',
  'VersionTag',
  'Update',
  'TaskGroups',
]);
/** Deprecated members of a group, which are never part of a diff (API-314). */
const NOT_OF_A_GROUP: ReadonlySet<string> = new Set([
  'Name',
  'Tasks',
  'MaxClientDisconnect',
  'StopAfterClientDisconnect',
  'PreventRescheduleOnLost',
]);
const NOT_OF_A_TASK: ReadonlySet<string> = new Set(['Name']);

/**
 * Compares two versions of a job (API-144 to API-146). Groups and tasks are listed even if they are equal. Other
 * objects are listed only if they changed, with their unchanged fields as context.
 * @param before null for a new job @param after null for a deleted job
 */
export function diffJobs(before: Job | null, after: Job | null): JobDiff {
  const members = diffPart(before, after, NOT_OF_A_JOB);
  const TaskGroups = pairs(before?.TaskGroups, after?.TaskGroups).map(([old, next]) => diffGroups(old, next));
  return {
    Type: typeOf(before, after, members, TaskGroups),
    ID: (after ?? before)?.ID ?? '',
    ...members,
    TaskGroups: TaskGroups.toSorted(byNameAndType),
  };
}

function diffGroups(before: TaskGroup | null, after: TaskGroup | null): TaskGroupDiff {
  const members = diffPart(before, after, NOT_OF_A_GROUP);
  const Tasks = pairs(before?.Tasks, after?.Tasks).map(([old, next]) => diffTasks(old, next));
  return {
    Type: typeOf(before, after, members, Tasks),
    Name: (after ?? before)?.Name ?? '',
    ...members,
    Tasks: Tasks.toSorted(byNameAndType),
    Updates: null,
  };
}

function diffTasks(before: Task | null, after: Task | null): TaskDiff {
  const members = diffPart(before, after, NOT_OF_A_TASK);
  return { Type: typeOf(before, after, members, []), Name: (after ?? before)?.Name ?? '', ...members, Annotations: [] };
}

function diffPart(before: object | null, after: object | null, skip: ReadonlySet<string>): MemberDiffs {
  const spread = (part: object | null) => (part === null ? null : { ...part });
  return diffMembers(spread(before), spread(after), { skip, withUnchanged: false });
}

function typeOf(
  before: object | null,
  after: object | null,
  { Fields, Objects }: MemberDiffs,
  parts: readonly { readonly Type: DiffType }[],
): DiffType {
  const changed = Fields.length > 0 || Objects.length > 0 || parts.some(({ Type }) => Type !== 'None');
  return diffTypeOf(before, after, changed);
}

/** Pairs the parts of both sides by name. */
function pairs<Part extends { readonly Name: string }>(
  before: readonly Part[] = [],
  after: readonly Part[] = [],
): [Part | null, Part | null][] {
  const names = new Set([...before, ...after].map(({ Name }) => Name));
  const named = (parts: readonly Part[], name: string) => parts.find(({ Name }) => Name === name) ?? null;
  return [...names].map((name) => [named(before, name), named(after, name)]);
}
