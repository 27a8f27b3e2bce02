import type { Step } from '../syntax/syntax-tree.js';
import { Decimal } from './decimal.js';
import { ConversionError, toNumber, toText } from './type.js';
import { Mapping, Sequence, typeName, type Value } from './value.js';

/** A value does not have the requested element (JS-40). */
export class AccessError extends Error {
  override readonly name = 'AccessError';

  constructor(
    readonly summary: string,
    readonly detail: string,
  ) {
    super(`${summary}; ${detail}`);
  }
}

/** @throws AccessError */
export function stepInto(value: Value, step: Step): Value {
  return step.kind === 'attribute' ? attributeOf(value, step.name) : elementOf(value, step.key);
}

function attributeOf(value: Value, name: string): Value {
  if (value === null)
    throw new AccessError(
      'Attempt to get attribute from null value',
      'This value is null, so it does not have any attributes.',
    );
  if (value instanceof Mapping) {
    const found = value.entries.get(name);
    if (found !== undefined) return found;
    throw value.kind === 'object'
      ? new AccessError('Unsupported attribute', `This object does not have an attribute named "${name}".`)
      : new AccessError('Missing map element', `This map does not have an element with the key "${name}".`);
  }
  if (value instanceof Sequence)
    throw new AccessError('Unsupported attribute', 'This value does not have any attributes.');
  throw new AccessError(
    'Unsupported attribute',
    `Can't access attributes on a primitive-typed value (${typeName(value)}).`,
  );
}

/** @throws AccessError */
export function elementOf(value: Value, key: Value): Value {
  if (value === null)
    throw new AccessError('Attempt to index null value', 'This value is null, so it does not have any indices.');
  const found = value instanceof Sequence ? itemOf(value, key) : entryOf(value, key);
  if (found !== undefined) return found;
  throw new AccessError('Invalid index', 'The given key does not identify an element in this collection value.');
}

function itemOf({ items }: Sequence, key: Value): Value | undefined {
  const index = keyOf(() => toNumber(key), 'a number is required');
  return index instanceof Decimal && index.isWhole ? items[index.toNumber()] : undefined;
}

function entryOf(value: Value, key: Value): Value | undefined {
  if (!(value instanceof Mapping)) throw new AccessError('Invalid index', 'This value does not have any indices.');
  return value.entries.get(keyOf(() => toText(key), 'string required'));
}

function keyOf<T>(convert: () => T, otherwise: string): T {
  try {
    return convert();
  } catch (error) {
    if (error instanceof ConversionError)
      throw new AccessError(
        'Invalid index',
        `The given key does not identify an element in this collection value: ${otherwise}.`,
      );
    throw error;
  }
}
