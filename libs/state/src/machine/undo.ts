import { isDeepStrictEqual } from 'node:util';

/** Reverts a row to its form before a change: members to set, and members to remove. */
export interface Undo {
  readonly set: Readonly<Record<string, unknown>>;
  readonly unset?: readonly string[];
}

type Members = Readonly<Record<string, unknown>>;

/**
 * The undo from `after` to `before`; of a deleted row (`after` undefined) all members. Much smaller than the row, as a
 * change touches few members. Cost: O(members, and the content of those that are not identical).
 * @param except a member that is stored elsewhere
 */
export function undoOf(before: object, after: object | undefined, except?: string): Undo {
  const [old, next]: [Members, Members] = [before as Members, (after ?? {}) as Members];
  const set: Record<string, unknown> = {};
  let common = 0;
  for (const name in old) {
    const [was, is] = [old[name], next[name]];
    const inBoth = is !== undefined || name in next;
    if (inBoth) common += 1;
    if (!(inBoth && (was === is || isDeepStrictEqual(was, is))) && name !== except) set[name] = was;
  }
  const names = Object.keys(next);
  if (names.length === common) return { set };
  const unset = names.filter((name) => name !== except && !(name in old));
  return unset.length > 0 ? { set, unset } : { set };
}

/** The row before the change. */
export function undone<Row extends object>(after: Row | undefined, undo: Undo): Row {
  const before: Record<string, unknown> = { ...after, ...undo.set };
  for (const name of undo.unset ?? []) delete before[name];
  return before as Row;
}
