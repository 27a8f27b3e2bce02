import { Decimal } from './decimal.js';
import { compareText, equalValues, Mapping, Sequence, typeName, type Value } from './value.js';

/** A type in a declaration (JS-72). `any` accepts every value unchanged. */
export type Type =
  | { readonly kind: 'string' | 'number' | 'bool' | 'any' }
  | { readonly kind: 'list' | 'set' | 'map'; readonly of: Type }
  | { readonly kind: 'object'; readonly attributes: ReadonlyMap<string, Type> }
  | { readonly kind: 'tuple'; readonly items: readonly Type[] };

export const STRING: Type = { kind: 'string' };
export const NUMBER: Type = { kind: 'number' };
export const BOOL: Type = { kind: 'bool' };
export const ANY: Type = { kind: 'any' };
export const listOf = (of: Type): Type => ({ kind: 'list', of });
export const mapOf = (of: Type): Type => ({ kind: 'map', of });

/** A value does not fit a type. The message names the requirement. */
export class ConversionError extends Error {
  override readonly name = 'ConversionError';
}

/** Converts a value to a type. Null stays null. @throws ConversionError */
export function convert(value: Value, type: Type): Value {
  if (value === null) return null;
  switch (type.kind) {
    case 'any':
      return value;
    case 'string':
      return toText(value);
    case 'number':
      return toNumber(value);
    case 'bool':
      return toBoolean(value);
    case 'list':
    case 'set':
      return toCollection(value, type.kind, type.of);
    case 'map':
      if (!(value instanceof Mapping)) throw new ConversionError(`${nameOf(type)} required`);
      return new Mapping(
        'map',
        mapEntries(value, () => type.of),
      );
    case 'object':
      return toObject(value, type.attributes);
    case 'tuple':
    default:
      return toTuple(value, type.items);
  }
}

/** @throws ConversionError */
export function toText(value: Value): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean' || value instanceof Decimal) return String(value);
  throw new ConversionError(`string required, but have ${typeName(value)}`);
}

/** @throws ConversionError */
export function toNumber(value: Value): Decimal {
  if (value instanceof Decimal) return value;
  if (typeof value !== 'string') throw new ConversionError(`number required, but have ${typeName(value)}`);
  const parsed = Decimal.parse(value);
  if (parsed === undefined) throw new ConversionError('a number is required');
  return parsed;
}

/** @throws ConversionError */
export function toBoolean(value: Value): boolean {
  if (typeof value === 'boolean') return value;
  if (typeof value !== 'string') throw new ConversionError(`bool required, but have ${typeName(value)}`);
  if (value === 'true' || value === '1') return true;
  if (value === 'false' || value === '0') return false;
  throw new ConversionError('a bool is required');
}

/** Returns the type of a value in the notation of declarations, for the default of an untyped variable (JS-76). */
export function typeOf(value: Value): Type {
  if (value === null) return ANY;
  if (value instanceof Decimal) return NUMBER;
  if (typeof value === 'boolean') return BOOL;
  if (typeof value === 'string') return STRING;
  if (value instanceof Sequence) {
    if (value.kind === 'tuple') return { kind: 'tuple', items: value.items.map(typeOf) };
    return { kind: value.kind, of: typeOf(value.items[0] ?? null) };
  }
  if (value.kind === 'map') return mapOf(typeOf([...value.entries.values()][0] ?? null));
  return { kind: 'object', attributes: new Map([...value.entries].map(([key, item]) => [key, typeOf(item)])) };
}

export function nameOf(type: Type): string {
  return type.kind === 'list' || type.kind === 'set' || type.kind === 'map'
    ? `${type.kind} of ${nameOf(type.of)}`
    : type.kind;
}

function toCollection(value: Value, kind: 'list' | 'set', of: Type): Sequence {
  if (!(value instanceof Sequence))
    throw new ConversionError(`${nameOf({ kind, of })} required, but have ${typeName(value)}`);
  const items = value.items.map((item, at) => within(`element ${at}`, () => convert(item, of)));
  return kind === 'set' ? setOf(items) : new Sequence('list', items);
}

/** Returns the sorted and distinct items. */
export function setOf(items: readonly Value[]): Sequence {
  const unique = items.filter((item, at) => items.findIndex((other) => equalValues(other, item)) === at);
  return new Sequence('set', unique.toSorted(compareValues));
}

function compareValues(a: Value, b: Value): number {
  if (a instanceof Decimal && b instanceof Decimal) return a.compare(b);
  const text = (value: Value): string => (value instanceof Sequence || value instanceof Mapping ? '' : String(value));
  return compareText(text(a), text(b));
}

function toObject(value: Value, attributes: ReadonlyMap<string, Type>): Mapping {
  if (!(value instanceof Mapping)) throw new ConversionError(`object required, but have ${typeName(value)}`);
  const missing = [...attributes.keys()].filter((name) => !value.entries.has(name));
  if (missing.length > 0)
    throw new ConversionError(
      `attribute${missing.length > 1 ? 's' : ''} ${missing.map((m) => `"${m}"`).join(', ')} required`,
    );
  const kept = new Mapping(
    'object',
    [...value.entries].filter(([name]) => attributes.has(name)),
  );
  return new Mapping(
    'object',
    mapEntries(kept, (name) => attributes.get(name) ?? ANY),
  );
}

function toTuple(value: Value, types: readonly Type[]): Sequence {
  if (!(value instanceof Sequence)) throw new ConversionError(`tuple required, but have ${typeName(value)}`);
  if (value.items.length !== types.length)
    throw new ConversionError(`a tuple of ${types.length} elements is required, but have ${value.items.length}`);
  return new Sequence(
    'tuple',
    value.items.map((item, at) => within(`element ${at}`, () => convert(item, types[at] ?? ANY))),
  );
}

function mapEntries(value: Mapping, typeAt: (key: string) => Type): [string, Value][] {
  return [...value.entries].map(([key, item]) => [key, within(`element "${key}"`, () => convert(item, typeAt(key)))]);
}

function within<T>(place: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (error instanceof ConversionError) throw new ConversionError(`${place}: ${error.message}`);
    throw error;
  }
}
