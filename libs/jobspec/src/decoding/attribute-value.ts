import { Decimal, NumberOutOfRange } from '../evaluation/decimal.js';
import { ConversionError, toBoolean, toNumber, toText } from '../evaluation/type.js';
import { Mapping, Sequence, typeName, type Value } from '../evaluation/value.js';
import { DurationError, parseDurationText } from './duration-text.js';
import { integerOf, type Json } from './json.js';
import type { AttributeType } from './schema.js';

/** A value does not fit its attribute. The diagnostic contains the detail. */
export class UnsuitableValue extends Error {
  override readonly name = 'UnsuitableValue';

  constructor(
    readonly summary: string,
    readonly detail: string,
    /** The requirement alone, without the surrounding words. */
    readonly reason: string = detail,
  ) {
    super(detail);
  }
}

/**
 * Returns the JSON of an attribute's value (JS §4), or undefined if the value counts as unset. @throws UnsuitableValue
 */
export function attributeValue(value: Value, type: AttributeType): Json | undefined {
  if (type === 'duration') return durationOf(value);
  if (value === null) return undefined;
  try {
    return converted(value, type);
  } catch (error) {
    if (error instanceof ConversionError || error instanceof NumberOutOfRange)
      throw new UnsuitableValue('Unsuitable value type', `Unsuitable value: ${error.message}`, error.message);
    throw error;
  }
}

function converted(value: Value, type: Exclude<AttributeType, 'duration'>): Json {
  switch (type) {
    case 'string':
      return toText(value);
    case 'integer':
      return integerOf(toNumber(value));
    case 'int8':
      return integerOf(toNumber(value), -128n, 127n);
    case 'uint8':
      return integerOf(toNumber(value), 0n, 255n);
    case 'bool':
      return toBoolean(value);
    case 'strings':
      return textsOf(value);
    case 'stringMap':
      return textMapOf(value, textOf);
    case 'stringsMap':
    default:
      return textMapOf(value, textsOf);
  }
}

function textsOf(value: Value): string[] {
  if (!(value instanceof Sequence)) throw new ConversionError(`list of string required, but have ${typeName(value)}`);
  return value.items.map((item, at) => {
    if (item instanceof Sequence || item instanceof Mapping)
      throw new ConversionError(`element ${at}: string required, but have ${typeName(item)}`);
    return textOf(item);
  });
}

function textOf(value: Value): string {
  if (value === null) throw new ConversionError('null value is not allowed');
  return toText(value);
}

function textMapOf(value: Value, item: (value: Value) => Json): Json {
  if (!(value instanceof Mapping)) throw new ConversionError('map of string required');
  return Object.fromEntries([...value.entries].map(([key, one]) => [key, item(one)]));
}

/** Converts a duration string or whole nanoseconds to nanoseconds, and refuses null (JS-51). */
function durationOf(value: Value): number {
  if (value === null) throw new UnsuitableValue('Unsuitable value', 'Unsuitable duration value: nil');
  const refused = (why: string): UnsuitableValue =>
    new UnsuitableValue('Unsuitable value type', `Unsuitable duration value: ${why}`);
  try {
    if (value instanceof Decimal) return integerOf(value);
    if (typeof value === 'string') return parseDurationText(value);
  } catch (error) {
    if (error instanceof DurationError || error instanceof ConversionError || error instanceof NumberOutOfRange)
      throw refused(error.message);
    throw error;
  }
  throw refused(`string or whole number required, but have ${typeName(value)}`);
}
