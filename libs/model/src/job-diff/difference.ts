/**
 * `None` appears only beside a change: for an unchanged field of an edited object, or an unchanged group or task of a
 * job.
 */
export type DiffType = 'None' | 'Added' | 'Deleted' | 'Edited';

/**
 * The change of one field, with its values as text. The entries of a map are fields `Meta[k]`. An absent value is
 * empty.
 */
export interface FieldDiff {
  Type: DiffType;
  Name: string;
  Old: string;
  New: string;
  Annotations: string[];
}

export interface ObjectDiff {
  Type: DiffType;
  Name: string;
  Fields: FieldDiff[];
  Objects: ObjectDiff[];
}

export interface TaskDiff {
  Type: DiffType;
  Name: string;
  Fields: FieldDiff[];
  Objects: ObjectDiff[];
  Annotations: string[];
}

export interface TaskGroupDiff {
  Type: DiffType;
  Name: string;
  Fields: FieldDiff[];
  Objects: ObjectDiff[];
  Tasks: TaskDiff[];
  /** Number of allocations for each word of SC-304. Null outside of dry runs. */
  Updates: Record<string, number> | null;
}

export interface JobDiff {
  Type: DiffType;
  ID: string;
  Fields: FieldDiff[];
  Objects: ObjectDiff[];
  TaskGroups: TaskGroupDiff[];
}

/** Returns the type of difference for an object that existed before, afterwards, or both. */
export function diffTypeOf(before: object | null, after: object | null, changed: boolean): DiffType {
  if (before === null) return after === null ? 'None' : 'Added';
  if (after === null) return 'Deleted';
  return changed ? 'Edited' : 'None';
}

/** Compares by name, then by type name (API-146). */
export function byNameAndType(a: { Name: string; Type: string }, b: { Name: string; Type: string }): number {
  return compareText(a.Name, b.Name) || compareText(a.Type, b.Type);
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
