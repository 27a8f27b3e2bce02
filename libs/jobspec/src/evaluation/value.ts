import { Decimal } from './decimal.js';

/** What an expression yields. Strings, booleans and null are JavaScript's own. */
export type Value = null | boolean | string | Decimal | Sequence | Mapping;

/** `tuple`: what `[…]` makes, each element its own type; `list` and `set` come from conversions and functions. */
export class Sequence {
  /** Sequences and mappings within each other, this one included. */
  readonly depth: number;

  constructor(
    readonly kind: 'tuple' | 'list' | 'set',
    readonly items: readonly Value[],
  ) {
    this.depth = depthAround(items);
  }
}

/** `object`: what `{…}` makes; `map` comes from conversions and functions. Keys ascend (JS-37). */
export class Mapping {
  readonly entries: ReadonlyMap<string, Value>;
  /** As of a sequence. */
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

/** JS-34: type and value. Tuples and lists of equal elements are equal, objects and maps likewise. */
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

/** The type of a value as messages name it. */
export function typeName(value: Value): string {
  if (value === null) return 'null';
  if (value instanceof Decimal) return 'number';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'string';
  const inner = value instanceof Sequence ? value.items[0] : [...value.entries.values()][0];
  if (value.kind === 'tuple' || value.kind === 'object') return value.kind;
  return inner === undefined ? `${value.kind} of dynamic` : `${value.kind} of ${typeName(inner)}`;
}
