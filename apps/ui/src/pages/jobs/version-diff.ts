import type { FieldDiff, JobDiff, ObjectDiff, TaskDiff, TaskGroupDiff } from '../../api/contract.js';

/** ChangedValue is one value that changed. */
export interface ChangedValue {
  /** The path of the value, from the outside in: `Group web`, `Task server`, `Resources`, `MemoryMB`. */
  readonly path: readonly string[];
  readonly kind: 'added' | 'removed' | 'changed';
  readonly before: string;
  readonly after: string;
}

/** Members that describe a version and not its contents. */
const BOOKKEEPING: ReadonlySet<string> = new Set(['Version', 'Stable', 'SubmitTime', 'ModifyIndex', 'JobModifyIndex']);

/** Returns the changes from one version to the next, a line for each value. */
export function changesOf(diff: JobDiff): readonly ChangedValue[] {
  return [
    ...inside(diff, []),
    ...changed(diff.TaskGroups).flatMap((group: TaskGroupDiff) => {
      const path = [`Group ${group.Name}`];
      return [
        ...whole(group, path),
        ...inside(group, path),
        ...changed(group.Tasks).flatMap((task: TaskDiff) => {
          const below = [...path, `Task ${task.Name}`];
          return [...whole(task, below), ...inside(task, below)];
        }),
      ];
    }),
  ];
}

interface Part {
  readonly Fields: readonly FieldDiff[] | null;
  readonly Objects: readonly ObjectDiff[] | null;
}

const changed = <T extends { readonly Type: string }>(parts: readonly T[] | null): readonly T[] =>
  (parts ?? []).filter(({ Type }) => Type !== 'None');

/** Returns a group or a task that was added or removed, which is more than the sum of its values. */
function whole({ Type }: { readonly Type: string }, path: readonly string[]): readonly ChangedValue[] {
  if (Type === 'Added') return [{ path, kind: 'added', before: '', after: '' }];
  return Type === 'Deleted' ? [{ path, kind: 'removed', before: '', after: '' }] : [];
}

function inside({ Fields, Objects }: Part, path: readonly string[]): readonly ChangedValue[] {
  return [
    ...changed(Fields)
      .filter(({ Name }) => path.length > 0 || !BOOKKEEPING.has(Name))
      .map(({ Name, Type, Old, New }) => ({ path: [...path, Name], kind: kindOf(Type), before: Old, after: New })),
    ...changed(Objects).flatMap((object) => inside(object, [...path, object.Name])),
  ];
}

const kindOf = (type: string): ChangedValue['kind'] =>
  type === 'Added' ? 'added' : type === 'Deleted' ? 'removed' : 'changed';
