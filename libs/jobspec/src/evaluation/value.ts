import { Decimal } from './decimal.js';

/** The result of an expression. Strings, booleans and null are JavaScript's own. */
export type Value = null | boolean | string | Decimal | Sequence | Mapping;

/**
 * A sequence. `[…]` creates a `tuple`, whose elements have types of their own. `list` and `set` come from conversions
 * and functions.
 */
export class Sequence {
  /** Depth of nested sequences and mappings, including this one. */
  readonly depth: number;

  constructor(
    readonly kind: 'tuple' | 'list' | 'set',
    readonly items: readonly Value[],
  ) {
    this.depth = depthAround(items);
  }
}

/**
 * A mapping. `{…}` creates an `object`. `map` comes from conversions and functions. Keys are in ascending order
 * (JS-37).
 */
export class Mapping {
  readonly entries: ReadonlyMap<string, Value>;
  /** Depth of nested sequences and mappings, including this one. */
  readonly depth: number;

  constructor(
    readonly kind: 'object' | 'map',
    entries: Iterable<readonly [string, Value]>,
  ) {
    this.entries = new Map([...new Map(entries)].toSorted(([a], [b]) => compareText(a, b)));
    this.depth = depthAround(this.entries.values());
  }
}

export const depthOf = (value: Value): number =>
  value instanceof Sequence || value instanceof Mapping ? value.depth : 0;

function depthAround(items: Iterable<Value>): number {
  let inner = 0;
  for (const item of items) inner = Math.max(inner, depthOf(item));
  return inner + 1;
}

export const tuple = (items: readonly Value[]): Sequence => new Sequence('tuple', items);
export const list = (items: readonly Value[]): Sequence => new Sequence('list', items);

export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/**
 * Whether two values are equal in type and value (JS-34). Tuples and lists with equal elements are equal, and so are
 * objects and maps.
 */
export function equalValues(a: Value, b: Value): boolean {
  if (a instanceof Decimal) return b instanceof Decimal && a.compare(b) === 0;
  if (a instanceof Sequence)
    return (
      b instanceof Sequence &&
      a.items.length === b.items.length &&
      a.items.every((item, at) => equalValues(item, b.items[at] ?? null))
    );
  if (a instanceof Mapping)
    return (
      b instanceof Mapping &&
      a.entries.size === b.entries.size &&
      [...a.entries].every(([key, value]) => b.entries.has(key) && equalValues(value, b.entries.get(key) ?? null))
    );
  return a === b;
}

/** Returns the type of a value for messages. */
export function typeName(value: Value): string {
  if (value === null) return 'null';
  if (value instanceof Decimal) return 'number';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'string';
  const inner = value instanceof Sequence ? value.items[0] : [...value.entries.values()][0];
  if (value.kind === 'tuple' || value.kind === 'object') return value.kind;
  return inner === undefined ? `${value.kind} of dynamic` : `${value.kind} of ${typeName(inner)}`;
}
