import type { DesiredUpdates } from '../evaluations/evaluation.js';
import type { FieldDiff, JobDiff, ObjectDiff, TaskDiff, TaskGroupDiff } from './difference.js';

export const FORCES_CREATE = 'forces create';
export const FORCES_DESTROY = 'forces destroy';
export const FORCES_IN_PLACE = 'forces in-place update';
export const FORCES_REPLACEMENT = 'forces create/destroy update';

/** Words of a group's diff for the counters of a plan (SC-304). */
const UPDATE_WORDS = {
  Ignore: 'ignore',
  Place: 'create',
  Stop: 'destroy',
  Migrate: 'migrate',
  Canary: 'canary',
  InPlaceUpdate: 'in-place update',
  DestructiveUpdate: 'create/destroy update',
} as const satisfies Partial<Record<keyof DesiredUpdates, string>>;

/** Objects of a task that change without a new allocation (SC-305). */
const IN_PLACE_OBJECTS: ReadonlySet<string> = new Set(['Service', 'Constraint', 'Affinity', 'Spread']);

/**
 * Annotates a diff with the effects of its changes (SC-304, SC-305). The annotations of tasks are coarser than the
 * scheduler, which may update in place where they announce a replacement. Clients show them in this form.
 * @param desired the updates that a dry run planned, by group
 */
export function annotateDiff(diff: JobDiff, desired: Readonly<Record<string, DesiredUpdates>>): JobDiff {
  return { ...diff, TaskGroups: diff.TaskGroups.map((group) => annotateGroup(group, desired[group.Name])) };
}

function annotateGroup(group: TaskGroupDiff, desired: DesiredUpdates | undefined): TaskGroupDiff {
  return {
    ...group,
    Fields: group.Fields.map((field) => (field.Name === 'Count' ? annotateCount(field) : field)),
    Tasks: group.Tasks.map((task) => annotateTask(task, group)),
    Updates: desired ? updatesOf(desired) : {},
  };
}

function updatesOf(desired: DesiredUpdates): Record<string, number> {
  const counted = Object.entries(UPDATE_WORDS).map(([counter, word]) => [
    word,
    desired[counter as keyof DesiredUpdates],
  ]);
  return Object.fromEntries(counted.filter(([, n]) => n !== 0));
}

function annotateCount(field: FieldDiff): FieldDiff {
  const growth = Number(field.New) - Number(field.Old); // "" is none
  if (growth === 0) return field;
  return { ...field, Annotations: [growth > 0 ? FORCES_CREATE : FORCES_DESTROY] };
}

function annotateTask(task: TaskDiff, group: TaskGroupDiff): TaskDiff {
  if (task.Type === 'None') return task;
  if (task.Type === 'Added' && group.Type === 'Added') return { ...task, Annotations: [FORCES_CREATE] };
  if (task.Type === 'Deleted' && group.Type === 'Deleted') return { ...task, Annotations: [FORCES_DESTROY] };
  const replaces = task.Fields.some(({ Name }) => Name !== 'KillTimeout') || task.Objects.some(forcesReplacement);
  return { ...task, Annotations: [replaces ? FORCES_REPLACEMENT : FORCES_IN_PLACE] };
}

function forcesReplacement({ Name, Fields }: ObjectDiff): boolean {
  if (Name !== 'LogConfig') return !IN_PLACE_OBJECTS.has(Name);
  return Fields.some((field) => field.Name === 'Disabled' && field.Type !== 'None');
}
