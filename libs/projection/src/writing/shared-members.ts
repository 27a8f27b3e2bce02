type Members = Record<string, unknown>;

/** Rows with pooled strings. Beyond this number, a new string is only compared with the previous row. */
export const MAX_POOLED_ROWS = 100_000;

/** Texts up to this length are not compared, because JSON.parse returns one string for all equal ones. */
const MAX_SHORT_TEXT = 10;

/**
 * Makes similar rows share their members. Rows parsed from JSON share nothing, although neighbours are similar:
 * allocations of one plan have the same resources, the same evaluation, the same reasons. Each row, in order, gets the
 * equal members of the previous row at any depth, like rows from the log. Rows are never changed in place, so sharing
 * has no effect on readers. It halves the memory of an allocation.
 *
 * Keeps the previous row, and one row for each string of the pooled members. Cost: one comparison of all members.
 */
export class SharedMembers<Row extends object> {
  private before: Row | undefined;
  private readonly pools: readonly Pool[];
  private pooled = 0;

  /**
   * @param pooled members whose strings recur in later rows; those of a group recur together (a node's ID and name),
   * and the first one finds them
   */
  constructor(pooled: readonly (readonly [keyof Row & string, ...(keyof Row & string)[]])[] = []) {
    this.pools = pooled.map(([first, ...others]) => ({ first, others, known: new Map() }));
  }

  /** Changes `row`, which no other code references yet. */
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

/** A group of members, indexed by its first. */
interface Pool {
  readonly first: string;
  readonly others: readonly string[];
  /** For each string of the first member, the row that introduced it. */
  readonly known: Map<string, Members>;
}

/** Gives `row` the equal texts and objects of `before`, at any depth. */
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

/** Whether both are equal including the order of members, so that their texts are equal. */
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
