type Members = Record<string, unknown>;

/** Rows kept for the strings they brought; beyond it a new string is looked for in the row before only. */
export const MAX_POOLED_ROWS = 100_000;

/** Texts up to this length are not looked at: JSON.parse gives out one string for all that are equal. */
const MAX_SHORT_TEXT = 10;

/**
 * Rows that come from JSON share nothing, though those that stand together are much alike: allocations of one plan have
 * the same resources, the same evaluation, the same reasons. Given one row after the other, each is left with its own
 * only where it differs from the one before, at any depth, as rows that come from the log are; rows are never changed in
 * place, so nobody can tell. Half the memory of an allocation.
 *
 * Keeps the row before, and one for each string of the members named. Cost: one comparison of all members.
 */
export class SharedMembers<Row extends object> {
  private before: Row | undefined;
  private readonly pools: readonly Pool[];
  private pooled = 0;

  /**
   * @param pooled members whose strings come back in rows further on; those of a group come back together (a node's id
   *   and name), and are found by the first
   */
  constructor(pooled: readonly (readonly [keyof Row & string, ...(keyof Row & string)[]])[] = []) {
    this.pools = pooled.map(([first, ...others]) => ({ first, others, known: new Map() }));
  }

  /** Changes `row`, which nobody else has yet. */
  share(row: Row): Row {
    const members = row as Members;
    const before = this.before as Members | undefined;
    if (before) shareMembers(before, members);
    for (const pool of this.pools) {
      const text = members[pool.first];
      if (typeof text === 'string' && text !== before?.[pool.first]) this.pool(pool, text, members);
    }
    return (this.before = row);
  }

  private pool({ first, others, known }: Pool, text: string, members: Members): void {
    const same = known.get(text);
    if (same) {
      members[first] = same[first];
      for (const name of others) if (members[name] === same[name]) members[name] = same[name];
    } else if (this.pooled < MAX_POOLED_ROWS) {
      this.pooled += 1;
      known.set(text, members);
    }
  }
}

/** A group of members, by its first. */
interface Pool {
  readonly first: string;
  readonly others: readonly string[];
  /** Per string of the first: the row that brought it. */
  readonly known: Map<string, Members>;
}

/** Gives `row` the texts and objects of `before` that are the same, at any depth. */
function shareMembers(before: Members, row: Members): void {
  const names = Object.keys(before);
  let at = 0;
  for (const name in row) {
    if (name !== names[at++]) return; // another shape: not worth the look
    const value = row[name];
    if (typeof value === 'string' ? value.length <= MAX_SHORT_TEXT : !isObject(value)) continue; // nothing to share
    const known = before[name];
    if (areSame(known, value)) row[name] = known;
    else if (isObject(value) && isObject(known) && isAlike(known, value)) shareMembers(known, value);
  }
}

/** Whether both are the same, to the order of their members: no text of theirs differs. */
function areSame(before: unknown, value: unknown): boolean {
  if (before === value) return true;
  if (!isObject(value) || !isObject(before) || !isAlike(before, value)) return false;
  const names = Object.keys(before);
  let at = 0;
  for (const name in value) {
    if (name !== names[at++] || !areSame(before[name], value[name])) return false;
  }
  return at === names.length;
}

const isAlike = (one: object, other: object): boolean => Array.isArray(one) === Array.isArray(other);

const isObject = (value: unknown): value is Members => typeof value === 'object' && value !== null;
