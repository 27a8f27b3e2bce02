type Members = Readonly<Record<string, unknown>>;

/** One value for each of the objects but the first; or, where few are long, each of them once and who has which. */
type Column = readonly unknown[] | { readonly Of: readonly unknown[]; readonly At: readonly number[] };

/** In which column a value is that is not the same in all objects; or which of its members are not. */
type Differing = number | { readonly [name: string]: Differing };

/** Objects that are much alike, as they are written (`toldApart`). */
export interface ToldApart {
  readonly First?: object;
  /** How many there are beside the first. */
  readonly Others: number;
  /** Absent: they are all the same. */
  readonly Differing?: Differing;
  readonly Columns: readonly Column[];
}

/**
 * Objects that are much alike, to be written as JSON: the first one whole, and of all others together, column by column,
 * the values that are not the same in all. A thousand allocations of one plan are a seventh as long, as
 * fast to write and four times as fast to read.
 *
 * A value has a column if it is no object in the first, or if the objects that stand there have not all the same names in
 * the same order (of lists: another length); else its members are looked at. Columns that are equal are written once.
 * Cost: one look at each member of each object; where two objects share one, all of what it holds is passed over.
 */
export function toldApart(alike: readonly object[]): ToldApart {
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
 * What `toldApart` was given, out of its JSON. Members that are the same in all are the same objects.
 * @throws RangeError it is not of that form: a column is missing or has another length
 */
export function putTogether<T extends object>({ First: first, Others, Differing, Columns: columns }: ToldApart): T[] {
  if (first === undefined) {
    if (Others !== 0) throw new RangeError('there is no first one');
    return [];
  }
  const others = Differing === undefined ? repeated(first, Others) : valuesOf(first, Others, Differing, columns);
  return [first, ...others] as T[];
}

/** The columns of the values that differ, each of them once. */
class Columns {
  readonly all: Column[] = [];
  /** Numbers of columns by their first value. */
  private readonly beginning = new Map<unknown, { readonly number: number; readonly values: readonly unknown[] }[]>();

  /** Of values that are not all the same as the first. @returns undefined if they are equal to it all the same */
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
 * The members that are not the same in all objects, each with its values. Undefined: the objects have other names, or
 * not in the order of the first; or one has undefined, which JSON leaves out, where another has a value.
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

/** Undefined: all are the same. */
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

/** Numbers and the like are as short as a position. */
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
