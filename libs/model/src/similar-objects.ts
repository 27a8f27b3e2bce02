type Members = Readonly<Record<string, unknown>>;

/**
 * One value for each object except the first. If few values are distinct, `Of` lists each once and `At` says which one
 * each object has.
 */
type Column = readonly unknown[] | { readonly Of: readonly unknown[]; readonly At: readonly number[] };

/** Number of the column of a value that differs between the objects, or the members of it that differ. */
type Differing = number | { readonly [name: string]: Differing };

/** The written form of similar objects (`packObjects`). */
export interface PackedObjects {
  readonly First?: object;
  /** Number of objects after the first. */
  readonly Others: number;
  /** Absent if all objects are equal. */
  readonly Differing?: Differing;
  readonly Columns: readonly Column[];
}

/**
 * Packs similar objects for JSON: the first object whole, and for all others, column by column, the values that differ.
 * A thousand allocations of one plan become a seventh as long, as fast to write and four times as fast to read.
 *
 * A value gets a column if it is no object in the first one, or if the objects at its place do not all have the same
 * names in the same order (lists: the same length). Otherwise its members are compared. Equal columns are written once.
 * Cost: each member of each object is compared once. If all objects share one member object, its content is skipped.
 */
export function packObjects(alike: readonly object[]): PackedObjects {
  const [first, ...others] = alike;
  if (first === undefined) return { Others: 0, Columns: [] };
  const columns = new Columns();
  const differing = others.every((other) => other === first) ? undefined : columns.differing(first, others);
  return {
    First: first,
    Others: others.length,
    ...(differing !== undefined && { Differing: differing }),
    Columns: columns.all,
  };
}

/**
 * Unpacks the objects that `packObjects` packed. Members that are equal in all objects become one shared object.
 * @throws RangeError if the value does not have that form: a column is missing or has another length
 */
export function unpackObjects<T extends object>({
  First: first,
  Others,
  Differing,
  Columns: columns,
}: PackedObjects): T[] {
  if (first === undefined) {
    if (Others !== 0) throw new RangeError('there is no first one');
    return [];
  }
  const others = Differing === undefined ? repeated(first, Others) : valuesOf(first, Others, Differing, columns);
  return [first, ...others] as T[];
}

/** The distinct columns of the values that differ. */
class Columns {
  readonly all: Column[] = [];
  /** Numbers of columns, by their first value. */
  private readonly beginning = new Map<unknown, { readonly number: number; readonly values: readonly unknown[] }[]>();

  /** Compares values that are not all identical to the first. @returns undefined if all are equal by content */
  differing(first: unknown, others: readonly unknown[]): Differing | undefined {
    const members = isObject(first) ? membersOf(first, others) : undefined;
    if (!isObject(first) || !members) return this.numberOf(others);
    let differing: Record<string, Differing> | undefined;
    for (const [name, values] of members) {
      const ofMember = this.differing(first[name], values);
      if (ofMember !== undefined) (differing ??= {})[name] = ofMember;
    }
    return differing;
  }

  private numberOf(values: readonly unknown[]): number {
    let alike = this.beginning.get(values[0]);
    if (!alike) this.beginning.set(values[0], (alike = []));
    const known = alike.find((column) => column.values.every((value, i) => value === values[i]));
    if (known) return known.number;
    const number = this.all.push(columnOf(values)) - 1;
    alike.push({ number, values });
    return number;
  }
}

/**
 * Returns the members that differ between the objects, each with its values. Returns undefined if the objects have
 * different names or another order of names, or if only some of them have the value undefined, which JSON omits.
 */
function membersOf(first: Members, others: readonly unknown[]): Map<string, readonly unknown[]> | undefined {
  const names = Object.keys(first);
  const isList = Array.isArray(first);
  if (names.includes('__proto__') || !others.every((other) => hasNames(other, names, isList))) return undefined;
  const members = new Map<string, unknown[]>();
  for (const name of names) {
    const values = valuesAt(others as readonly Members[], name, first[name]);
    if (!values) continue;
    if (first[name] === undefined || values.includes(undefined)) return undefined;
    members.set(name, values);
  }
  return members;
}

/** Returns undefined if all values are identical to the first. */
function valuesAt(objects: readonly Members[], name: string, first: unknown): unknown[] | undefined {
  const values = Array<unknown>(objects.length);
  let same = true;
  for (let i = 0; i < values.length; i++) {
    const value = (values[i] = objects[i]?.[name]);
    if (value !== first) same = false;
  }
  return same ? undefined : values;
}

function hasNames(value: unknown, names: readonly string[], isList: boolean): boolean {
  if (!isObject(value) || Array.isArray(value) !== isList) return false;
  let at = 0;
  for (const name in value) if (name !== names[at++]) return false;
  return at === names.length;
}

/** Columns of numbers and booleans stay plain, because such a value is as short as a position. */
function columnOf(values: readonly unknown[]): Column {
  if (!values.some((value) => typeof value === 'string' || isObject(value))) return values;
  const positions = new Map<unknown, number>();
  const At: number[] = [];
  for (const value of values) {
    const known = positions.get(value);
    At.push(known ?? positions.size);
    if (known === undefined) positions.set(value, positions.size);
    if (positions.size * 2 > values.length) return values;
  }
  return { Of: [...positions.keys()], At };
}

function valuesOf(first: unknown, count: number, differing: Differing, columns: readonly Column[]): readonly unknown[] {
  if (typeof differing === 'number') return columnAt(columns, differing, count);
  const values = Array.from({ length: count }, () => copyOf(first));
  for (const name in differing) {
    const member = differing[name];
    if (member === undefined || !isObject(first)) continue;
    const column = valuesOf(first[name], count, member, columns);
    for (let i = 0; i < count; i++) (values[i] as Record<string, unknown>)[name] = column[i];
  }
  return values;
}

function columnAt(columns: readonly Column[], number: number, count: number): readonly unknown[] {
  const column = columns[number];
  const values = column && ('At' in column ? column.At.map((at) => column.Of[at]) : column);
  if (values?.length !== count) throw new RangeError(`column ${number} does not have ${count} values`);
  return values;
}

const copyOf = (value: unknown): unknown => (Array.isArray(value) ? value.slice() : { ...(value as object) });

const repeated = (value: unknown, count: number): unknown[] => Array.from({ length: count }, () => value);

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null;
}
