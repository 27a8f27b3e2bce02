import { Decimal } from '../evaluation/decimal.js';
import { ConversionError } from '../evaluation/type.js';
import { Mapping, Sequence, type Value } from '../evaluation/value.js';

/** JSON for the API. */
export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}

export function isJsonObject(json: Json | undefined): json is JsonObject {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}

/** Returns the objects of a list that contains only objects, and none for null. */
export function objectsIn(json: Json | undefined): JsonObject[] {
  return Array.isArray(json) ? json.filter(isJsonObject) : [];
}

const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);

/**
 * Converts a value to JSON. Whole numbers stay whole if they fit into 64 bits (JS-35). @throws ConversionError for a
 * number beyond the range of doubles
 */
export function jsonOf(value: Value): Json {
  if (value instanceof Decimal) return numberOf(value);
  if (value instanceof Sequence) return value.items.map(jsonOf);
  if (value instanceof Mapping) return Object.fromEntries([...value.entries].map(([key, item]) => [key, jsonOf(item)]));
  return value;
}

function numberOf(value: Decimal): number {
  const number = value.toNumber();
  if (Number.isFinite(number)) return number;
  throw new ConversionError(
    `${value.isInfinite ? 'an infinite number' : 'a number as large as this'} cannot be written as JSON`,
  );
}

/** @throws ConversionError unless the value is whole and within the bounds */
export function integerOf(value: Decimal, min: bigint = INT64_MIN, max: bigint = INT64_MAX): number {
  const fits = value.isWhole && value.toBigInt() >= min && value.toBigInt() <= max;
  if (fits) return Number(value.toBigInt());
  const bounds = min === 0n ? `between 0 and ${max} inclusive` : `between ${min} and ${max}`;
  throw new ConversionError(`value must be a whole number, ${bounds}`);
}

/** Returns the text of a member, or an empty text if it is no text. */
export function textAt(object: JsonObject, key: string): string {
  const value = object[key];
  return typeof value === 'string' ? value : '';
}
