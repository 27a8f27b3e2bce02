import { DecodeError } from '@waybill/model';

/**
 * JsonObject holds the members of a request body. Their names may have any case, and an exact match takes precedence.
 * null counts as absent. [API-25]
 */
export type JsonObject = Record<string, unknown>;

/** @throws DecodeError 400 */
export function asObject(json: unknown, what: string): JsonObject {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw DecodeError.wrongType(json, what, what);
  return json as JsonObject;
}

export function memberOf(object: JsonObject, name: string): unknown {
  if (Object.hasOwn(object, name)) return object[name] ?? undefined;
  const key = Object.keys(object).find((k) => k.toLowerCase() === name.toLowerCase());
  return key === undefined ? undefined : (object[key] ?? undefined);
}

export function stringOf(object: JsonObject, name: string): string {
  const value = memberOf(object, name);
  if (value === undefined || typeof value === 'string') return value ?? '';
  throw DecodeError.wrongType(value, name, 'string');
}

export function boolOf(object: JsonObject, name: string): boolean {
  const value = memberOf(object, name);
  if (value === undefined || typeof value === 'boolean') return value ?? false;
  throw DecodeError.wrongType(value, name, 'bool');
}

/** The limit of 64 bits. The greatest integer of 64 bits is read as this number. */
const INT_LIMIT = 2 ** 63;

export function intOf(object: JsonObject, name: string): number {
  const value = memberOf(object, name);
  if (value === undefined) return 0;
  if (typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= INT_LIMIT) return value;
  throw DecodeError.wrongType(value, name, 'int');
}

/** Reads versions and indexes, which are never below 0. */
export function uintOf(object: JsonObject, name: string): number {
  const value = intOf(object, name);
  if (value < 0) throw DecodeError.wrongType(value, name, 'uint64');
  return value;
}

/** Reads a list of texts. A missing list is empty. */
export function stringsOf(object: JsonObject, name: string): string[] {
  const value = memberOf(object, name);
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw DecodeError.wrongType(value, name, '[]string');
  return value.map((item: unknown) => {
    if (typeof item !== 'string') throw DecodeError.wrongType(item, name, 'string');
    return item;
  });
}

export function objectOf(object: JsonObject, name: string): JsonObject | undefined {
  const value = memberOf(object, name);
  return value === undefined ? undefined : asObject(value, name);
}
