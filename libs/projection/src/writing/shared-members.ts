type Members = Record<string, unknown>;

/** Distinct strings kept for sharing; beyond it a string is no longer looked for, only in the row before. */
export const MAX_POOLED_STRINGS = 100_000;

/**
 * Rows that come from JSON share nothing, though those that stand together are much alike: allocations of one plan have
 * the same resources, the same evaluation, the same reasons. Given one row after the other, each is left with its own
 * only where it differs from the one before, at any depth, as rows that come from the log are; rows are never changed in
 * place, so nobody can tell. Half the memory of an allocation.
 *
 * Keeps the row before and the strings of the members named. Cost: one comparison of all members.
 */
export class SharedMembers<Row extends object> {
  private before: Row | undefined;
  private readonly strings = new Map<string, string>();

  /** @param pooled members whose strings come back in rows further on */
  constructor(private readonly pooled: readonly (keyof Row & string)[] = []) {}

  /** Changes `row`, which nobody else has yet. */
  share(row: Row): Row {
    const members = row as Members;
    for (const name of this.pooled) members[name] = this.pooledOf(members[name]);
    if (this.before) shareMembers(this.before as Members, members);
    return (this.before = row);
  }

  private pooledOf(value: unknown): unknown {
    if (typeof value !== 'string') return value;
    const known = this.strings.get(value);
    if (known === undefined && this.strings.size < MAX_POOLED_STRINGS) this.strings.set(value, value);
    return known ?? value;
  }
}

/** `value`, or `before` if it is the same. */
function shared(before: unknown, value: unknown): unknown {
  if (before === value) return before;
  if (!isObject(before) || !isObject(value) || Array.isArray(before) !== Array.isArray(value)) return value;
  return shareMembers(before, value) ? before : value;
}

/** @returns whether both have the same members in the same order */
function shareMembers(before: Members, row: Members): boolean {
  const names = Object.keys(row);
  const namesBefore = Object.keys(before);
  let isSame = names.length === namesBefore.length;
  for (let at = 0; at < names.length; at++) {
    const name = names[at] ?? '';
    if (name !== namesBefore[at]) return false; // another shape: not worth the look
    const known = before[name];
    const member = shared(known, row[name]);
    if (member !== known) isSame = false;
    else row[name] = member;
  }
  return isSame;
}

const isObject = (value: unknown): value is Members => typeof value === 'object' && value !== null;
