/**
 * Whether two rows say the same, member by member. An embedded job is compared by its version and indexes only: its own
 * row is compared when it changes, and jobs are most of the bytes of an allocation.
 */
export function equalRows(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((one, at) => equalRows(one, b[at]));
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  const names = Object.keys(left);
  if (names.length !== Object.keys(right).length) return false;
  return names.every((name) =>
    name === 'Job' ? sameJob(left[name], right[name]) : equalRows(left[name], right[name]),
  );
}

interface JobVersion {
  readonly ID: string;
  readonly Version: number;
  readonly CreateIndex: number;
  readonly JobModifyIndex: number;
}

function sameJob(a: unknown, b: unknown): boolean {
  const left = a as JobVersion | null;
  const right = b as JobVersion | null;
  if (!left || !right) return left === right;
  return (
    left.ID === right.ID &&
    left.Version === right.Version &&
    left.JobModifyIndex === right.JobModifyIndex &&
    left.CreateIndex === right.CreateIndex
  );
}
