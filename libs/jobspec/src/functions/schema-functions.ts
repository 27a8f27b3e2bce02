import { Decimal } from '../evaluation/decimal.js';
import { Mapping, Sequence, typeName, type Value } from '../evaluation/value.js';
import { FunctionError, type LanguageFunction } from './function-table.js';
import { any, num, numberOf, of } from './parameters.js';

/** Functions that the schemas of plugins may call (PG-42). Job files do not have them. */
export const SCHEMA_FUNCTIONS: Readonly<Record<string, LanguageFunction>> = {
  hasindex: of([any('collection'), any('key')], ([collection = null, key = null]) => hasIndex(collection, key)),
  int: of([num()], ([n]) => withoutFraction(numberOf(n))),
};

/** Rounds towards zero. */
function withoutFraction(number: Decimal): Decimal {
  return number.sign < 0 ? number.negated().floor().negated() : number.floor();
}

/**
 * Whether a list has this position, or a map this key. A key of another type is in none. Like the reference's function,
 * it takes no object. @throws FunctionError
 */
function hasIndex(collection: Value, key: Value): boolean {
  if (collection instanceof Mapping && collection.kind === 'map')
    return typeof key === 'string' && collection.entries.has(key);
  if (!(collection instanceof Sequence) || collection.kind === 'set')
    throw new FunctionError(`collection must be a list, a map or a tuple, but have ${typeName(collection)}`);
  if (!(key instanceof Decimal) || !key.isWhole) return false;
  return key.sign >= 0 && key.compare(Decimal.of(collection.items.length)) < 0;
}
