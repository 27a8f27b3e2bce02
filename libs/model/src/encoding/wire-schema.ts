import type { AnyShape, FieldType } from './wire-shape.js';

/** JSON Schema in the dialect of OpenAPI 3.1. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Objects whose zero members are left out of responses (API-17). */
const OMIT_EMPTY: ReadonlySet<string> = new Set(['NetworkResource', 'Port']);

/** Direction of a schema. In a request, every member may be absent or null. A response has every member. */
export type Direction = 'request' | 'answer';

/** Returns the schemas of a shape and of every nested shape, by name. */
export function schemasOfShape(shape: AnyShape, direction: Direction): Record<string, JsonSchema> {
  const schemas: Record<string, JsonSchema> = {};
  const add = (one: AnyShape): void => {
    const name = schemaName(one.name, direction);
    if (name in schemas) return;
    const pending = new Map<string, AnyShape>();
    schemas[name] = {}; // taken, for shapes that hold themselves
    schemas[name] = objectSchema(one, direction, (inner) => pending.set(inner.name, inner));
    for (const inner of pending.values()) add(inner);
  };
  add(shape);
  return schemas;
}

/** Returns the name of the schema of a shape. */
export const schemaName = (shape: string, direction: Direction): string =>
  direction === 'answer' ? shape : `${shape}Input`;

export const schemaRef = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

function objectSchema(shape: AnyShape, direction: Direction, meet: (inner: AnyShape) => void): JsonSchema {
  const isRequest = direction === 'request';
  const all = Object.entries({ ...shape.fields, ...(isRequest && shape.inputOnly) });
  const fields = isRequest ? all.filter(([, { ignored }]) => ignored !== true) : all;
  const properties = fields.map(([name, { type }]) => {
    const schema = typeSchema(type, direction, meet);
    return [name, isRequest ? nullable(schema) : schema];
  });
  const required = isRequest || OMIT_EMPTY.has(shape.name) ? {} : { required: fields.map(([name]) => name) };
  return { type: 'object', properties: Object.fromEntries(properties), ...required };
}

function typeSchema(type: FieldType | undefined, direction: Direction, meet: (inner: AnyShape) => void): JsonSchema {
  switch (type?.is) {
    case undefined:
      return {};
    case 'string':
    case 'boolean':
      return { type: type.is };
    case 'freeform':
      return { type: 'object' };
    case 'integer':
      return { type: 'integer', minimum: type.min, maximum: type.max };
    case 'list':
      return { type: 'array', items: typeSchema(type.of, direction, meet) };
    case 'map':
      return { type: 'object', additionalProperties: typeSchema(type.of, direction, meet) };
    case 'or null':
      return nullable(typeSchema(type.of, direction, meet));
    case 'object':
      meet(type.shape);
      return schemaRef(schemaName(type.shape.name, direction));
  }
}

/** Returns the schema, extended by null. */
export const nullable = (schema: JsonSchema): JsonSchema =>
  Object.keys(schema).length === 0 ? {} : { anyOf: [schema, { type: 'null' }] };
