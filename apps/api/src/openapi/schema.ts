import { wireSchema } from '@waybill/model';

export type JsonSchema = wireSchema.JsonSchema;
export const { nullable, schemaRef: ref } = wireSchema;

const WIDEST = 2 ** 64;

export const text: JsonSchema = { type: 'string' };
export const flag: JsonSchema = { type: 'boolean' };
export const float: JsonSchema = { type: 'number' };
export const anything: JsonSchema = {};
export const int: JsonSchema = { type: 'integer' };
export const uint: JsonSchema = { type: 'integer', minimum: 0, maximum: WIDEST };
export const uint16: JsonSchema = { type: 'integer', minimum: 0, maximum: 65_535 };
/** A time in Unix nanoseconds, or a duration in nanoseconds. */
export const ns: JsonSchema = { type: 'integer', format: 'int64' };
/** A time in RFC 3339; null stands for none (API-14, API-713). */
export const time: JsonSchema = { anyOf: [{ type: 'string', format: 'date-time' }, { type: 'null' }] };

export const listOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items });
export const mapOf = (values: JsonSchema): JsonSchema => ({ type: 'object', additionalProperties: values });
/** A map by the ID of an allocation or a node: a full UUID in lower case (API-714). */
export const mapById = (values: JsonSchema): JsonSchema => ({
  ...mapOf(values),
  propertyNames: { pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' },
});
export const oneOf = (...values: readonly string[]): JsonSchema => ({ type: 'string', enum: values });

/** A list that is null if it is missing (API-16). */
export const maybeListOf = (items: JsonSchema): JsonSchema => nullable(listOf(items));
export const maybeMapOf = (values: JsonSchema): JsonSchema => nullable(mapOf(values));

/**
 * Members has one schema for every member of T, so the compiler finds members that a description forgot or invented.
 */
export type Members<T extends object> = { readonly [K in keyof T]-?: JsonSchema };

/** Describes an object that has all its members, except those that are only present on request (API-17). */
export function object<T extends object>(
  members: Members<T>,
  optional: readonly (keyof T & string)[] = [],
): JsonSchema {
  const required = Object.keys(members).filter((name) => !optional.includes(name as keyof T & string));
  return { type: 'object', properties: members, required };
}

/** Describes an object whose members are omitted when they are zero (API-17). `always` lists those that never are. */
export function sparse<T extends object>(members: Members<T>, always: readonly (keyof T & string)[]): JsonSchema {
  return { type: 'object', properties: members, required: always };
}

/** The members that carry the index of a write in the body; QUERY_META has those of a read. */
export const WRITE_META = { Index: uint } as const;
export const QUERY_META = { Index: uint, LastContact: int, KnownLeader: flag, NextToken: text } as const;
export const plain = (members: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  type: 'object',
  properties: members,
  required: Object.keys(members),
});
