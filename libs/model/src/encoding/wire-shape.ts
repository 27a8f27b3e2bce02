import { DecodeError } from './decode-error.js';

/**
 * How a client's JSON becomes a domain object, in two steps driven by one table per object (a `Shape`). `read` checks
 * types and keeps only given members (API-25: names match in any case, unknown names are ignored, null counts as
 * absent). After rules that involve several fields have run, `fill` completes the remaining fields with their defaults.
 * The types of a shape make the compiler check that no field of the object is forgotten.
 */
export interface Field<V> {
  /** Returns the given value, or undefined to ignore it. `json` is never null. Throws DecodeError. */
  readonly read: (json: unknown, place: string) => unknown;
  /** Returns the complete value. `given` is undefined if the member is absent. */
  readonly fill: (given: unknown) => V;
  /** The JSON type for descriptions of the API. Undefined stands for any JSON. */
  readonly type?: FieldType | undefined;
  /** The field is not part of a request: a client's value is ignored. */
  readonly ignored?: true;
}

/** The JSON type of a field. `or null`: the field can be null even in a complete object. */
export type FieldType =
  | { readonly is: 'string' | 'boolean' | 'freeform' }
  | { readonly is: 'integer'; readonly min: number; readonly max: number }
  | { readonly is: 'list' | 'map'; readonly of: FieldType | undefined }
  | { readonly is: 'object'; readonly shape: AnyShape }
  | { readonly is: 'or null'; readonly of: FieldType | undefined };

/** A shape of any object. */
export interface AnyShape {
  readonly name: string;
  readonly fields: Readonly<Record<string, Field<unknown>>>;
  readonly inputOnly?: Readonly<Record<string, Field<unknown>>> | undefined;
}

export interface Shape<T extends object> {
  readonly name: string;
  readonly fields: { readonly [K in keyof T]-?: Field<T[K]> };
  /** Accepted fields that are merged into other fields and never stored (API-701). */
  readonly inputOnly?: Readonly<Record<string, Field<unknown>>>;
}

/** A given object: any field may be missing, at any depth. */
export type Given<T> = T extends readonly (infer U)[]
  ? Given<U>[]
  : T extends object
    ? { [K in keyof T]?: Given<T[K]> }
    : T;

/** Deepest nesting of accepted JSON. Decoding deeper JSON would exhaust the stack. */
export const MAX_JSON_DEPTH = 200;

const INT_LIMIT = 2 ** 63;

export function readShape<T extends object>(shape: Shape<T>, json: unknown): Given<T> {
  return readFields(shape, asObject(json, shape.name, shape.name), shape.name);
}

/** Runs both steps for an object without rules between its fields. Throws DecodeError. */
export function decodeShape<T extends object>(shape: Shape<T>, json: unknown): T {
  return fillShape(shape, readShape(shape, json));
}

/** Returns the complete object. `given` is not changed. */
export function fillShape<T extends object>(shape: Shape<T>, given: Given<T>): T {
  const values = asRecord(given);
  const entries = fieldsOf(shape).map(([name, field]) => [name, field.fill(values[name] ?? undefined)]);
  return Object.fromEntries(entries);
}

export function string(fallback = ''): Field<string> {
  return scalar('string', isString, fallback);
}

/** A string whose empty value is also replaced by the default (API-316). */
export function filledString(fallback: string): Field<string> {
  return { ...string(), fill: (given) => (typeof given === 'string' && given !== '' ? given : fallback) };
}

export function boolean(fallback = false): Field<boolean> {
  return scalar('bool', isBoolean, fallback);
}

export function int(fallback = 0): Field<number> {
  return integer('int', -INT_LIMIT, INT_LIMIT, fallback);
}

export function uint(fallback = 0): Field<number> {
  return integer('uint64', 0, 2 * INT_LIMIT, fallback);
}

/** An integer of signed eight bits (API-715). */
export function int8(fallback = 0): Field<number> {
  return integer('int8', -128, 127, fallback);
}

/** An integer of unsigned eight bits (API-715). */
export function uint8(fallback = 0): Field<number> {
  return integer('uint8', 0, 255, fallback);
}

/** A duration in nanoseconds (API-13). */
export function duration(fallback = 0): Field<number> {
  return integer('time.Duration', -INT_LIMIT, INT_LIMIT, fallback);
}

/** A field that is null when absent. */
export function optional<V>(field: Field<V>): Field<V | null> {
  return {
    read: field.read,
    fill: (given) => (given === undefined ? null : field.fill(given)),
    type: orNull(field.type),
  };
}

/** A field that the server owns: a client's value is ignored (API-111, API-317). */
export function serverOwned<V>(value: V): Field<V> {
  return { read: () => undefined, fill: () => value, type: typeOfValue(value), ignored: true };
}

/** A field that a rule sets: a client's value is ignored, and `fill` keeps the rule's. */
export function derived<V>(field: Field<V>): Field<V> {
  return { read: () => undefined, fill: field.fill, type: field.type, ignored: true };
}

/** A nested object that is null when absent. */
export function object<T extends object>(shape: Shape<T>): Field<T | null> {
  return optional(present(shape));
}

/** A nested object that is complete with defaults when absent. */
export function present<T extends object>(shape: Shape<T>): Field<T> {
  return {
    read: (json, place) => readFields(shape, asObject(json, place, shape.name), place),
    fill: (given) => fillShape<T>(shape, asGiven<T>(given)),
    type: { is: 'object', shape },
  };
}

/** A list that is null when absent or empty (API-313). */
export function list<V>(of: Field<V>): Field<V[] | null> {
  return nullWhenEmpty(filledList(of), (items) => items.length === 0);
}

/** A list that is empty, not null, when absent. */
export function filledList<V>(of: Field<V>): Field<V[]> {
  return {
    read: (json, place) => {
      if (!Array.isArray(json)) throw DecodeError.wrongType(json, place, '[]');
      return json.map((item: unknown) => (item === null ? of.fill(undefined) : of.read(item, place)));
    },
    fill: (given) => (Array.isArray(given) ? given.map((item: unknown) => of.fill(item ?? undefined)) : []),
    type: { is: 'list', of: of.type },
  };
}

/** A map that is null when absent or empty (API-313). */
export function map<V>(of: Field<V>): Field<Record<string, V> | null> {
  const whole: Field<Record<string, V>> = {
    read: (json, place) =>
      mapEntries(asObject(json, place, 'map'), (value) =>
        value === null ? of.fill(undefined) : of.read(value, place),
      ),
    fill: (given) => mapEntries(asRecord(given), (value) => of.fill(value ?? undefined)),
    type: { is: 'map', of: of.type },
  };
  return nullWhenEmpty(whole, (entries) => Object.keys(entries).length === 0);
}

/** Arbitrary JSON of a driver or plugin, kept as sent. Null when absent or empty. */
export function freeform(): Field<Record<string, unknown> | null> {
  const whole: Field<Record<string, unknown>> = {
    read: (json, place) => {
      checkDepth(json, MAX_JSON_DEPTH);
      return asObject(json, place, 'map[string]interface {}');
    },
    fill: asRecord,
    type: { is: 'freeform' },
  };
  return nullWhenEmpty(whole, (entries) => Object.keys(entries).length === 0);
}

/** Any JSON, which other code decodes. Undefined when absent. */
export function raw(): Field<unknown> {
  return { read: (json) => json, fill: (given) => given };
}

function scalar<V>(
  goType: string,
  matches: (json: unknown) => json is V,
  fallback: V,
  type: FieldType | undefined = typeOfValue(fallback),
): Field<V> {
  return {
    read: (json, place) => {
      if (!matches(json)) throw DecodeError.wrongType(json, place, goType);
      return json;
    },
    fill: (given) => (matches(given) ? given : fallback),
    type,
  };
}

function integer(goType: string, min: number, max: number, fallback: number): Field<number> {
  const isInRange = (json: unknown): json is number =>
    typeof json === 'number' && Number.isInteger(json) && json >= min && json <= max;
  return scalar(goType, isInRange, fallback, { is: 'integer', min, max });
}

const orNull = (of: FieldType | undefined): FieldType => ({ is: 'or null', of });

function typeOfValue(value: unknown): FieldType | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return { is: typeof value === 'string' ? 'string' : 'boolean' };
    case 'number':
      return { is: 'integer', min: -INT_LIMIT, max: INT_LIMIT };
    default:
      return undefined;
  }
}

function isString(json: unknown): json is string {
  return typeof json === 'string';
}

function isBoolean(json: unknown): json is boolean {
  return typeof json === 'boolean';
}

function isRecord(json: unknown): json is Record<string, unknown> {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}

function nullWhenEmpty<V>(field: Field<V>, isEmpty: (value: V) => boolean): Field<V | null> {
  return {
    read: field.read,
    type: orNull(field.type),
    fill: (given) => {
      if (given === undefined) return null;
      const value = field.fill(given);
      return isEmpty(value) ? null : value;
    },
  };
}

function readFields<T extends object>(shape: Shape<T>, json: Record<string, unknown>, place: string): Given<T> {
  const byLowerCase = new Map(Object.keys(json).map((key) => [key.toLowerCase(), key]));
  const entries: [string, unknown][] = [];
  for (const [name, field] of [...fieldsOf(shape), ...Object.entries(shape.inputOnly ?? {})]) {
    const key = Object.hasOwn(json, name) ? name : byLowerCase.get(name.toLowerCase());
    const value = key === undefined ? null : (json[key] ?? null);
    const read = value === null ? undefined : field.read(value, `${place}.${name}`);
    if (read !== undefined) entries.push([name, read]);
  }
  return asGiven<T>(Object.fromEntries(entries));
}

function fieldsOf<T extends object>(shape: Shape<T>): [string, Field<unknown>][] {
  return Object.entries<Field<unknown>>(shape.fields);
}

function asObject(json: unknown, place: string, wanted: string): Record<string, unknown> {
  if (!isRecord(json)) throw DecodeError.wrongType(json, place, wanted);
  return json;
}

function asRecord(given: unknown): Record<string, unknown> {
  return isRecord(given) ? given : {};
}

/** The only place that trusts the table for the type: `read` put in exactly what the shape of T describes. */
function isGiven<T>(values: unknown): values is Given<T> {
  return isRecord(values);
}

function asGiven<T>(values: unknown): Given<T> {
  const given = values ?? {};
  if (!isGiven<T>(given)) throw DecodeError.wrongType(given, 'job', 'object');
  return given;
}

function mapEntries<V>(entries: Record<string, unknown>, change: (value: unknown) => V): Record<string, V> {
  return Object.fromEntries(Object.entries(entries).map(([key, value]) => [key, change(value)]));
}

function checkDepth(json: unknown, left: number): void {
  if (typeof json !== 'object' || json === null) return;
  if (left === 0) throw new DecodeError('json: exceeded max depth');
  for (const value of Object.values(json)) checkDepth(value, left - 1);
}
