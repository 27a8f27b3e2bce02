import { toText } from './type.js';
import { list, Mapping, Sequence, tuple, typeName, type Value } from './value.js';

/** Two values have no common type. `mine` and `its` are the different parts, and `at` is their place. */
export class MismatchError extends Error {
  override readonly name = 'MismatchError';

  constructor(
    readonly mine: Value,
    readonly its: Value,
    readonly at = '',
  ) {
    super(`${at}${typeName(mine)} and ${typeName(its)}`);
  }
}

/**
 * Converts `mine` to the type that it shares with `its` (JS-36): a number or a bool beside a string becomes a string,
 * also inside sequences and mappings. Tuples of unequal length become lists, and objects with unequal members become
 * maps, if the elements of both have one type. @throws MismatchError
 */
export function unified(mine: Value, its: Value): Value {
  if (mine === null || its === null) return mine;
  if (mine instanceof Sequence && its instanceof Sequence) return sequence(mine, its);
  if (mine instanceof Mapping && its instanceof Mapping) return mapping(mine, its);
  if (!isPrimitive(mine) || !isPrimitive(its)) throw new MismatchError(mine, its);
  if (typeName(mine) === typeName(its) || typeof mine === 'string') return mine;
  if (typeof its === 'string') return toText(mine);
  throw new MismatchError(mine, its);
}

function sequence(mine: Sequence, its: Sequence): Sequence {
  if (mine.kind === 'tuple' && its.kind === 'tuple' && mine.items.length === its.items.length)
    return tuple(
      mine.items.map((item, at) => within(`tuple element ${at}`, () => unified(item, its.items[at] ?? null))),
    );
  if (mine.items.length === 0 || its.items.length === 0) return mine;
  const items = withAll(mine.items, [...mine.items, ...its.items]);
  return mine.kind === 'tuple' ? list(items) : new Sequence(mine.kind, items);
}

function mapping(mine: Mapping, its: Mapping): Mapping {
  const names = [...mine.entries.keys()];
  if (mine.entries.size === its.entries.size && names.every((name) => its.entries.has(name)))
    return new Mapping(
      mine.kind,
      [...mine.entries].map(([name, item]) => [
        name,
        within(`object attribute "${name}"`, () => unified(item, its.entries.get(name) ?? null)),
      ]),
    );
  if (mine.entries.size === 0 || its.entries.size === 0) return mine;
  const items = withAll([...mine.entries.values()], [...mine.entries.values(), ...its.entries.values()]);
  return new Mapping(
    'map',
    names.map((name, at) => [name, items[at] ?? null]),
  );
}

/** Converts each item to the common type of all, or leaves all unchanged if there is none. */
function withAll(items: readonly Value[], all: readonly Value[]): Value[] {
  try {
    return items.map((item) => all.reduce<Value>((one, other) => unified(one, other), item));
  } catch (error) {
    if (error instanceof MismatchError) return [...items];
    throw error;
  }
}

function within(place: string, unify: () => Value): Value {
  try {
    return unify();
  } catch (error) {
    if (!(error instanceof MismatchError)) throw error;
    throw new MismatchError(error.mine, error.its, `Type mismatch for ${place}: ${error.at}`);
  }
}

const isPrimitive = (value: Value): boolean => !(value instanceof Sequence || value instanceof Mapping);
